"""Result files of other clients, read for one question: how did it count its tokens, and what in the file proves that?

Each reader makes rows of a file; judging is the same for all (``_weighed``). Sources, read 2026-11-22: vLLM 0.33.0
benchmarks/serve.py, SGLang 0.5.23 benchmark/serving.py, guidellm 0.8.1, aiperf 0.13.0 and genai-perf, llama.cpp
tools/llama-bench, evalscope perf. No file is accused without evidence in itself: what cannot be told is unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .measured import USAGE, Measured, Run, Usage

__all__ = ["measured_of_foreign", "measured_of_table", "recognised"]

#: A rate is tokens over seconds as its own file states both; files round.
_AGREE = 0.02
#: Characters a token of real vocabularies.
_CHARS = (1.0, 9.0)
_RETOKENISED = 0.1


@dataclass(frozen=True)
class _Row:
    """One figure. ``way``: how its client counts: usage, tokenizer, engine, unknown; ``how``: the same as a sentence.
    ``counts``: tokens of each request; ``texts``: what each answered; ``again``: the client's own second count."""

    tokens: float
    seconds: float
    rate: float
    way: str
    how: str
    streams: int = 1
    failed: float = 0
    counts: Sequence[float] = ()
    texts: Sequence[str] = ()
    again: float = 0


def recognised(data: object) -> str:
    """The name of the client that wrote it; "" for none that is known."""
    one = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else data
    if not isinstance(one, dict):
        return ""
    return next((name for name, (marks, _) in _READERS.items() if all(mark in one for mark in marks)), "")


def measured_of_foreign(data: Any) -> Measured:
    """Every figure of the file as a run; ``recognised`` has to have a name for it."""
    name = recognised(data)
    every = data if isinstance(data, list) else [data]
    rows = [row for one in every if isinstance(one, dict) for row in _READERS[name][1](one)]
    first = every[0]
    model = first.get("model_id") or first.get("model_filename") or first.get("model") or ""
    return Measured(tuple(_weighed(row) for row in rows) or (_nothing(name),), "published",
                    engine=str(first.get("backend") or name)[:100] if isinstance(first.get("backend"), str) else name,
                    no_counter="a published file has none", model=str(model)[:200] if isinstance(model, str) else "")


def measured_of_table(text: str) -> Measured | None:
    """llama-bench's Markdown; None where it is none. ``| model | ... | test | t/s |``, one row a test."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()
             if line.lstrip().startswith("|")]
    head = next((cells for cells in lines if {"model", "test", "t/s"} <= set(cells)), None)
    if head is None:
        return None
    rows = []
    for cells in lines:
        if len(cells) != len(head) or cells == head:
            continue
        held = dict(zip(head, cells, strict=True))
        found = re.match(r"([0-9.]{1,12})\s*(?:\u00b1|$)", held["t/s"])
        if found and (made := re.match(r"tg(\d{1,7})", held["test"])):
            rows.append(_Row(float(made[1]), float(made[1]) / _positive(found[1]), float(found[1]), "engine", _ENGINE))
    return Measured(tuple(map(_weighed, rows)) or (_nothing("llama-bench"),), "published", engine="llama.cpp",
                    no_counter="a published file has none", model=next(
                        (cells[head.index("model")] for cells in lines if len(cells) == len(head) and cells != head
                         and not set(cells[0]) <= set("-: ")), ""))


def _nothing(name: str) -> Run:
    return Run("published", counted_by="unknown", error=f"a file of {name} without a figure of generated tokens")


def _weighed(row: _Row) -> Run:
    """What the file itself proves for the row, or against it."""
    way, why = row.way, row.how
    texts = sum(map(len, row.texts))
    summed = sum(row.counts)
    if not row.tokens or not row.seconds:
        way, why = "unknown", f"it has no tokens or no time; {row.how}"
    elif row.failed:
        way, why = "unknown", f"{row.failed:.0f} of its requests failed; {row.how}"
    elif row.rate and abs(row.rate - row.tokens / row.seconds) > _AGREE * row.rate:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens / {row.seconds:.3f} s = "
                                     f"{row.tokens / row.seconds:.2f}, the file says {row.rate:.2f}")
    elif row.counts and abs(summed - row.tokens) > _AGREE * row.tokens:
        way, why = "contradiction", f"its requests have {summed:.0f} tokens together, the total says {row.tokens:.0f}"
    elif row.again and abs(row.again - row.tokens) > _RETOKENISED * row.tokens:
        way, why = "contradiction", (f"it counted {row.tokens:.0f} tokens, and its own tokenizer makes "
                                     f"{row.again:.0f} of the text")
    elif texts and not _CHARS[0] <= texts / row.tokens <= _CHARS[1]:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens for {texts} characters of text, "
                                     f"{texts / row.tokens:.2f} a token")
    elif row.way == USAGE and not (row.again or texts):
        way, why = "claimed", f"{row.how}; the file keeps neither texts nor a second count"
    elif row.again:
        why = f"{row.how}; its own tokenizer makes {row.again:.0f} of the text"
    elif texts:
        why = f"{row.how}; {texts / row.tokens:.2f} characters a token"
    # The text is weighed here; a run's own limits are of single streams.
    usage = Usage(0, int(row.tokens)) if way == USAGE else None
    return Run("timed" if row.streams == 1 else "published", int(row.tokens), usage, last_s=row.seconds or None,
        error=why,
               group=row.streams, finish="length" if way == USAGE else None, counted_by=way)


_USAGE_OR = "the client takes usage where the server sends it, and otherwise its own tokenizer's count of the text"
_ENGINE = "the engine's own loop over random tokens: no server, no sampling and no text, so no request gets it"


def _vllm(data: Mapping[str, Any]) -> Iterator[_Row]:
    yield _Row(_number(data["total_output_tokens"]), _number(data["duration"]), _number(data["output_throughput"]),
               USAGE, f"vLLM's bench serve: {_USAGE_OR}; its TTFT may be that of a chunk with only a role",
               int(_number(data.get("max_concurrency")) or 2), _number(data.get("failed")),
                   _numbers(data.get("output_lens")),
               _texts(data.get("generated_texts")))


def _sglang(data: Mapping[str, Any]) -> Iterator[_Row]:
    yield _Row(_number(data["total_output_tokens"]), _number(data["duration"]), _number(data["output_throughput"]),
               USAGE, "SGLang's bench_serving: usage where the server sends it, otherwise the length asked for",
               max(1, round(_number(data.get("max_concurrency")) or 2)), 0, _numbers(data.get("output_lens")),
               _texts(data.get("generated_texts")), _number(data["total_output_tokens_retokenized"]))


def _guidellm(data: Mapping[str, Any]) -> Iterator[_Row]:
    for bench in _dicts(data.get("benchmarks")):
        good = _dicts(_at(bench, "requests", "successful"))
        total = _number(_at(bench, "metrics", "output_token_count", "successful", "total_sum"))
        rate = _number(_at(bench, "metrics", "output_tokens_per_second", "successful", "mean"))
        # A report may keep a sample of its requests: only all of them have the total's tokens and text.
        all_kept = len(good) == _number(_at(bench, "metrics", "request_totals", "successful"))
        # Its rate is over the tokens' own span, not over the benchmark's duration: no quotient to check it by.
        yield _Row(total, total / rate if rate else 0, rate, USAGE, f"guidellm: {_USAGE_OR}",
                   int(_number(_at(bench, "config", "strategy", "streams")) or 2),
                   _number(_at(bench, "metrics", "request_totals", "errored")),
                   texts=[f"{each.get('reasoning_output') or ''}{each.get('output') or ''}" for each in good]
                   if all_kept else ())


def _aiperf(data: Mapping[str, Any]) -> Iterator[_Row]:
    rate = _number(_at(data, "output_token_throughput", "avg"))
    requests = _number(_at(data, "request_count", "avg"))
    length = _number(_at(data, "output_sequence_length", "avg"))
    span = _number(_at(data, "benchmark_duration", "avg"))
    tokens = requests * length or rate * span
    server = _at(data, "input_config", "endpoint", "use_server_token_count")
    way, how = ((USAGE, "aiperf with the server's own token count") if server is True else
                ("tokenizer",
                    "aiperf and genai-perf count the text with a tokenizer of their own: right only where it is the "
                 "model's, and without what the server does not show"))
    yield _Row(tokens, span or (tokens / rate if rate else 0), rate, way, how, int(_number(
        _at(data, "input_config", "loadgen", "concurrency")) or 2), _number(_at(data, "error_request_count", "avg")))


def _llama_bench(data: Mapping[str, Any]) -> Iterator[_Row]:
    made, rate = _number(data["n_gen"]), _number(data["avg_ts"])
    if made:
        spans = _numbers(data.get("samples_ns"))
        both = made + _number(data.get("n_prompt"))
        seconds = sum(spans) / len(spans) / 1e9 if spans else both / rate if rate else 0
        yield _Row(both, seconds, rate, "engine", f"llama-bench: {_ENGINE}")


def _completion_stats(data: Mapping[str, Any]) -> Iterator[_Row]:
    """llm-inference-bench's other mode: whole answers, a row each."""
    for run in _dicts(data.get("runs")):
        guessed = bool(run.get("estimated_tokens"))
        yield _Row(_number(run.get("completion_tokens")), _number(run.get("elapsed")), _number(run.get("e2e_tok_s")),
                   "unknown" if guessed else USAGE, "llm-inference-bench's completion statistics: "
                   + ("it says itself that it estimated these tokens" if guessed else "usage of each whole answer"),
                   max(1, int(_number(run.get("concurrency")))), 0 if run.get("ok") else 1,
                   texts=_texts([f"{run.get('reasoning_text') or ''}{run.get('content_text') or ''}"]))


def _evalscope(data: Mapping[str, Any]) -> Iterator[_Row]:
    span = _number(data.get("Time taken for tests (s)"))
    rate = _number(data.get("Output token throughput (tok/s)"))
    each = _number(data.get("Average output tokens per request"))
    tokens = each * _number(data.get("Succeed requests"))
    yield _Row(tokens or rate * span, span, rate, USAGE, f"evalscope perf: {_USAGE_OR}",
               int(_number(data.get("Number of concurrency")) or 2), _number(data.get("Failed requests")))


_Reader = Callable[[Mapping[str, Any]], Iterator[_Row]]
#: Keys that all have to be there; the first that fits is taken.
_READERS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "SGLang bench_serving": (("total_output_tokens_retokenized", "total_output_tokens", "duration",
        "output_throughput"),
                             _sglang),
    "vLLM bench serve": (("total_output_tokens", "duration", "output_throughput", "completed"), _vllm),
    "guidellm": (("benchmarks", "metadata"), _guidellm),
    "llm-inference-bench": (("metadata", "runs", "methodology", "level_summaries"), _completion_stats),
    "aiperf": (("output_token_throughput", "request_count", "time_to_first_token"), _aiperf),
    "llama-bench": (("n_gen", "n_prompt", "avg_ts", "build_commit"), _llama_bench),
    "evalscope": (("Output token throughput (tok/s)", "Time taken for tests (s)"), _evalscope),
}


def _at(data: object, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _numbers(value: object) -> list[float]:
    return [_number(each) for each in value] if isinstance(value, list) else []


def _number(value: object) -> float:
    """0 for what is no finite number of tokens, seconds or requests."""
    good = isinstance(value, (int, float)) and not isinstance(value,
        bool) and math.isfinite(value) and 0 <= value < 1e15
    return float(value) if good else 0.0  # type: ignore[arg-type]


def _positive(text: str) -> float:
    try:
        return max(1e-9, float(text))
    except ValueError:
        return 1e-9
