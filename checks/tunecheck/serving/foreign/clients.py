"""Clients of the OpenAI API that count by usage, or by what they asked for: vLLM, SGLang, guidellm and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..measured import USAGE
from .row import BEHIND, USAGE_OR, Row
from .values import at, dicts, number, numbers, texts_of

__all__ = ["EVALSCOPE_RATE", "EVALSCOPE_TIME", "completion_stats", "evalscope", "guidellm", "sglang", "vllm"]


def vllm(data: Mapping[str, Any]) -> Iterator[Row]:
    if not data.get("total_output_tokens") and not data.get("output_throughput") and not data.get("failed"):
        return          # cut down to its times, as some publish it
    done, asked = number(data.get("completed")), number(data.get("num_prompts"))
    # Earlier versions write no failed.
    failed = max(number(data.get("failed")), asked - done if "completed" in data else 0, _errors(data))
    yield Row(number(data.get("total_output_tokens")), number(data.get("duration")),
              number(data.get("output_throughput")), USAGE,
              f"vLLM's bench serve: {USAGE_OR}; its TTFT may be that of a chunk with only a role",
              int(number(data.get("max_concurrency")) or number(data.get("multi_turn_concurrency")) or 2), failed,
              numbers(data.get("output_lens")), texts_of(data.get("generated_texts")),
              hidden=f"its chat client keeps no reasoning, or {BEHIND}")


#: Backends of its /generate, where every event states the engine's own count (meta_info.completion_tokens).
_NATIVE = ("sglang", "sglang-native")


def sglang(data: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the figure of a file of SGLang's client. Over the OpenAI API it asks for no usage, and so counts what it
    asked for: 544 tokens were published of a server that sent 512 (measured with 0.5.23 and --random-output-len 68).
    The file does not say whether usage came."""
    native = data.get("backend") in _NATIVE
    yield Row(number(data["total_output_tokens"]), number(data["duration"]), number(data["output_throughput"]),
              USAGE if native else "asked", "SGLang's bench_serving: " + (
                  "the engine's count in each event of /generate" if native else
                  "over the OpenAI API it does not ask for usage: where the server sends none, it counts the length "
                  "that it asked for"),
              max(1, round(number(data.get("max_concurrency")) or 2)), _errors(data),
              numbers(data.get("output_lens")), texts_of(data.get("generated_texts")),
              number(data["total_output_tokens_retokenized"]),
              hidden=BEHIND if native else f"the answers were shorter than it asked for, or {BEHIND}")


def _errors(data: Mapping[str, Any]) -> int:
    """Return how many requests failed, of files with details: a text for each request, empty where it went well."""
    return sum(bool(each) for each in texts_of(data.get("errors")))


def guidellm(data: Mapping[str, Any]) -> Iterator[Row]:
    for bench in dicts(data.get("benchmarks")):
        good = dicts(at(bench, "requests", "successful"))
        total = number(at(bench, "metrics", "output_token_count", "successful", "total_sum"))
        rate = number(at(bench, "metrics", "output_tokens_per_second", "successful", "mean"))
        # A report may keep a sample of its requests: only all of them have the total's tokens and text.
        all_kept = len(good) == number(at(bench, "metrics", "request_totals", "successful"))
        # Its rate is over the tokens' own span, not over the benchmark's duration: no quotient to check it by.
        yield Row(total, total / rate if rate else 0, rate, USAGE, f"guidellm: {USAGE_OR}",
                  int(number(at(bench, "config", "strategy", "streams")) or 2),
                  number(at(bench, "metrics", "request_totals", "errored")),
                  texts=[f"{each.get('reasoning_output') or ''}{each.get('output') or ''}" for each in good]
                  if all_kept else (), hidden=BEHIND)


def completion_stats(data: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of llm-inference-bench's other mode: whole answers, a row each."""
    for run in dicts(data.get("runs")):
        guessed = bool(run.get("estimated_tokens"))
        yield Row(number(run.get("completion_tokens")), number(run.get("elapsed")), number(run.get("e2e_tok_s")),
                  "unknown" if guessed else USAGE, "llm-inference-bench's completion statistics: "
                  + ("it says itself that it estimated these tokens" if guessed else "usage of each whole answer"),
                  max(1, int(number(run.get("concurrency")))), 0 if run.get("ok") else 1,
                  texts=texts_of([f"{run.get('reasoning_text') or ''}{run.get('content_text') or ''}"]))


#: evalscope's names at fde259d2 (2026-08, perf_constants.py), and those until 1.3.
EVALSCOPE_TIME = ("Test Duration (s)", "Time taken for tests (s)")
EVALSCOPE_RATE = ("Output Throughput (tok/s)", "Output token throughput (tok/s)")


def evalscope(data: Mapping[str, Any]) -> Iterator[Row]:
    def either(*names: str) -> float:
        return next((number(data[name]) for name in names if name in data), 0.0)

    span, rate = either(*EVALSCOPE_TIME), either(*EVALSCOPE_RATE)
    tokens = either("Avg Output Tokens", "Average output tokens per request") * either(
        "Success Requests", "Succeed requests")
    yield Row(tokens or rate * span, span, rate, USAGE, f"evalscope perf: {USAGE_OR}",
              int(either("Concurrency", "Number of concurrency") or 2), either("Failed Requests", "Failed requests"))
