"""aiperf and genai-perf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..measured import USAGE
from .row import RETOKENISED, Row
from .values import at, dicts, number

__all__ = ["aiperf"]


def aiperf(data: Mapping[str, Any]) -> Iterator[Row]:
    rate = number(at(data, "output_token_throughput", "avg"))
    requests = number(at(data, "request_count", "avg"))
    length = number(at(data, "output_sequence_length", "avg"))
    # Both rates are over one span: genai-perf writes none, and aiperf's benchmark_duration is another, from the first
    # request to the last answer: 4.09 s where the rates are over 4.20 s (measured with 0.13.0, 16 requests).
    each_s = number(at(data, "request_throughput", "avg"))
    span = requests / each_s if each_s else number(at(data, "benchmark_duration", "avg"))
    tokens = requests * length
    empty = _without_text(requests, each_s, tokens, rate)
    config = data.get("input_config")
    way, how, usage = _aiperf_way(data, tokens)
    # Beside usage its own count is the second; its rate is of its own.
    again, tokens, rate = (tokens, usage, rate * usage / tokens) if usage else (0.0, tokens, rate)
    # Schema 1.3 has phases, before it was loadgen; genai-perf's own has it by the stimulus.
    phases = [each for each in dicts(at(config, "phases")) if not each.get("exclude_from_results")]
    streams = number(at(phases[0], "concurrency")) if len(phases) == 1 else number(at(
        config, "loadgen", "concurrency")) or number(at(config, "perf_analyzer", "stimulus", "concurrency"))
    failed = number(at(data, "error_request_count", "avg")) or sum(
        number(each.get("count")) for each in dicts(data.get("error_summary")))
    spoilt = "it was cancelled" if data.get("was_cancelled") is True else (
        f"by its rates {empty} of its {requests + empty:.0f} requests had no text" if empty else "")
    yield Row(tokens, span, rate, way, how, int(streams or 2), failed, again=again, spoilt=spoilt)


def _aiperf_way(data: Mapping[str, Any], tokens: float) -> tuple[str, str, float]:
    """Return how the client counted, the same as a sentence, and the server's usage where that agrees with a count of
    the client's own, else 0."""
    usage = number(at(data, "total_usage_completion_tokens", "avg"))
    # It writes how far usage is from its own count; of the server's count alone there is nothing to write.
    beside = usage > 0 and isinstance(at(data, "usage_completion_tokens_diff_pct"), dict)
    if at(data, "input_config", "endpoint", "use_server_token_count") is True or (usage and not beside):
        return USAGE, "aiperf with the server's own token count", 0.0
    if beside and tokens and abs(usage - tokens) <= RETOKENISED * usage:
        return USAGE, "aiperf with the server's usage beside its own count", usage
    if not isinstance(data.get("input_config"), dict):
        return "unknown", "aiperf or genai-perf without its input_config, which says whose count it takes", 0.0
    return "tokenizer", ("aiperf and genai-perf count the text with a tokenizer of their own: right only where it is "
                         "the model's, and without what the server does not show" + (
                             f"; it counts {tokens:.0f} tokens, the server's usage says {usage:.0f}" if beside else "")
                         ), 0.0


def _without_text(counted: float, each_s: float, tokens: float, rate: float) -> int:
    """Return how many requests had no text. genai-perf's rate of requests counts those too, its request_count and its
    tokens do not: 5.41 of 16, where request_count is 12 (measured with 0.0.16)."""
    every = each_s * tokens / rate if rate else 0.0
    # Published rates are rounded.
    return round(every - counted) if 1e-3 * counted < every - counted < 1e9 else 0
