"""Which client wrote a file, and every figure of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..measured import Measured, Run
from .aiperf import aiperf
from .clients import EVALSCOPE_RATE, EVALSCOPE_TIME, completion_stats, evalscope, guidellm, sglang, vllm
from .llama_bench import llama_bench
from .row import Row, nothing, weighed
from .values import at

__all__ = ["measured_of_foreign", "recognised"]

_Reader = Callable[[Mapping[str, Any]], Iterator[Row]]
#: Keys that all have to be there; the first that fits is taken.
_READERS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "SGLang bench_serving": (("total_output_tokens_retokenized", "total_output_tokens", "duration",
                              "output_throughput"), sglang),
    "vLLM bench serve": (("total_output_tokens", "duration", "output_throughput", "completed"), vllm),
    "vLLM bench serve, times only": (("tokenizer_id", "num_prompts", "mean_ttft_ms", "mean_tpot_ms"), vllm),
    "guidellm": (("benchmarks", "metadata"), guidellm),
    "llm-inference-bench": (("metadata", "runs", "methodology", "level_summaries"), completion_stats),
    "aiperf": (("output_token_throughput", "request_latency", "output_sequence_length"), aiperf),
    "llama-bench": (("n_gen", "n_prompt", "avg_ts", "build_commit"), llama_bench),
    "evalscope": ((EVALSCOPE_RATE[0], EVALSCOPE_TIME[0]), evalscope),
    "evalscope, earlier names": ((EVALSCOPE_RATE[1], EVALSCOPE_TIME[1]), evalscope),
}


def recognised(data: object) -> str:
    """Return the name of the client that wrote the file, of several the first that is known; "" for none."""
    for one in data if isinstance(data, list) else [data]:
        if isinstance(one, dict):
            for name, (marks, _) in _READERS.items():
                if all(mark in one for mark in marks):
                    return name
    return ""


def measured_of_foreign(data: Any) -> Measured:
    """Return every figure of the file as a run; ``recognised`` has to have a name for it."""
    name = recognised(data)
    every = data if isinstance(data, list) else [data]
    rows = [row for one in every if (writer := recognised(one)) for row in _READERS[writer][1](one)]
    strange = sum(not recognised(one) for one in every)
    lost = (Run("published", counted_by="unknown", error=f"{strange} of {len(every)} entries of the file cannot be "
                "read, or are of no client that is known"),) if strange else ()
    first = next(one for one in every if recognised(one))
    engine = first.get("backend")
    return Measured((tuple(map(weighed, rows)) or (nothing(name),)) + lost, "published",
                    engine=engine[:100] if isinstance(engine, str) else name,
                    no_counter="a published file has none", model=_model(first))


def _model(first: Mapping[str, Any]) -> str:
    """Return the name of the model, which each client writes in another place."""
    config = first.get("input_config")
    listed = at(config, "models", "items")
    places = (first.get("model_id"), first.get("model_filename"), first.get("model"),
              at(first, "server_info", "model_path"), at(config, "endpoint", "model_names"),
              at(config, "model_names"), at(listed[0], "name") if isinstance(listed, list) and listed else None)
    for found in places:
        one = found[0] if isinstance(found, list) and found else found
        if isinstance(one, str) and one:
            return one[:200]
    return ""
