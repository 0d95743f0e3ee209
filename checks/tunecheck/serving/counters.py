"""A server's own counters from its Prometheus text: the second witness of how many tokens were generated. Pure.

Names: vLLM and SGLang ``generation_tokens_total``, llama.cpp ``tokens_predicted_total`` (read off llama.cpp's server;
the others from their metrics documentation, 2026-11)."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["GENERATED", "delta", "engine_of", "parse"]

GENERATED = ("generation_tokens_total", "tokens_predicted_total")
#: For diagnosis only: proposals are no tokens. A bad drafter proposed 5720 for 1200 delivered (measured).
_KEPT = (*GENERATED, "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total")
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
_SAMPLE = re.compile(r"(vllm|sglang|llamacpp):(\w+)(?:\{[^}\n]{0,2000}\})?\s+([0-9.eE+-]{1,40})(?:\s|$)")


def parse(text: str) -> dict[str, float]:
    """Return the value of each counter by its name without the engine's prefix, summed over labels (ranks, models)."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample and sample[2] in _KEPT:
            try:
                found[sample[2]] = found.get(sample[2], 0.0) + float(sample[3])
            except ValueError:
                continue
    return found


def engine_of(text: str) -> str:
    """Return the engine that wrote the text: vllm, sglang, llama.cpp, or unknown."""
    found = re.search(r"^(vllm|sglang|llamacpp):", text, re.MULTILINE)
    return _ENGINES[found[1]] if found else "unknown"


def delta(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return what each counter grew by. A counter that appears with its first event began at 0."""
    return {name: value - before.get(name, 0.0) for name, value in after.items()}
