"""Published raw benchmark files, judged like our own runs: how were their tokens counted?

The form is that of a client that many published figures come from: ``metadata`` (duration_per_test, max_tokens, ...)
and ``results`` (concurrency, aggregate_tps, total_tokens, wall_time, num_completed, server_gen_throughput, ...). It
drops every stream at ``duration_per_test`` seconds, so before the engine's usage in its last event, and then takes
round(characters / 4) for tokens, where it could not read the server's gauge.

From 0.4 on each row says by itself where its tokens come from (``aggregate_source``) and over which window they were
counted (``measurement_seconds``): openai_continuous_usage is the engine's usage, read with every event (changelog and
fields of 0.4.30 to 0.7.3, read 2026-11-23). lil-bench puts the same document under ``results.bench``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import Flaw, UsageError
from .measured import USAGE, Measured, Run, Usage

__all__ = ["is_published", "measured_of_published"]


def is_published(data: object) -> bool:
    data = _inner(data)
    return isinstance(data, dict) and isinstance(data.get("metadata"), dict) and isinstance(data.get("results"), list)


def measured_of_published(data: Mapping[str, Any], where: str) -> Measured:
    """Return every row as a run; ``error`` says what shows how it was counted. UsageError for a file without rows."""
    data = _inner(data)
    head = data["metadata"]
    rows = [row for row in data["results"] if isinstance(row, dict)]
    if not rows:
        raise UsageError(f"{where}: it has no results; expected at least one", Flaw.WRONG_TYPE)
    duration, limit = _number(head.get("duration_per_test")), _number(head.get("max_tokens"))
    runs = tuple(_run(row, duration, limit) for row in rows)
    return Measured(runs, "published", sum(run.tokens for run in runs), engine=str(head.get("engine") or "unknown"),
                    no_counter="a published file has none", model=str(head.get("model") or ""))


def _inner(data: Any) -> Any:
    """Return the document that lil-bench wraps, by its own schema; else the document itself."""
    if not (isinstance(data, dict) and str(data.get("schema", "")).startswith("lil-bench")):
        return data
    held = data.get("results")
    found = next((each for each in held.values() if isinstance(each, dict) and isinstance(each.get("results"), list)
                  and isinstance(each.get("metadata"), dict)), None) if isinstance(held, dict) else None
    return found or data


#: What makes a row no figure, by the client's own word (0.6 and newer).
_INVALID = ("loop_detected", "warmup_timed_out", "capacity_limited", "underfilled", "failure_reason", "timeout_reason")


def _sourced(row: Mapping[str, Any]) -> Run:
    """Return the run of a row that a client of version 0.4 or newer wrote."""
    streams = max(1, int(_number(row.get("concurrency")) or 1))
    rate, seconds = _number(row.get("aggregate_tps")), _number(row.get("measurement_seconds"))
    tokens = _number(row.get("client_output_tokens")) or _number(row.get("total_tokens"))
    source = str(row.get("aggregate_source"))[:60]
    # The server's counter over the same window; before it was kept, its rate.
    counted = _number(row.get("server_output_tokens"))
    gauge = counted / seconds if counted and seconds else _number(row.get("server_gen_throughput"))
    said = [f"{name}: {str(row[name])[:60]}" for name in _INVALID if row.get(name)]
    if _number(row.get("num_errors")):
        said.append(f"{_number(row['num_errors']):.0f} errors")
    way, why = _way_sourced(source, tokens, seconds, rate, gauge)
    if said:
        way, why = "unknown", f"the row itself calls its figure invalid ({'; '.join(said)})"
    kind = "timed" if streams == 1 and not row.get("context_tokens") and way == USAGE else "published"
    usage = Usage(0, int(tokens)) if way == USAGE else None
    # Its streams go on behind the window: nothing of it is one request's limit.
    return Run(kind, int(tokens), usage, last_s=seconds or None, error=why, group=streams,
               first_s=_number(row.get("ttft_p50")) or None, finish="length" if way == USAGE else None, counted_by=way)


def _way_sourced(source: str, tokens: float, seconds: float, rate: float, gauge: float) -> tuple[str, str]:
    if rate <= 0 or not seconds:
        return "unknown", "it has no rate or no window"
    if tokens and abs(rate - tokens / seconds) > 0.02 * rate:
        return "contradiction", (f"{tokens:.0f} tokens / {seconds:.3f} s = {tokens / seconds:.2f}, the row says "
                                 f"{rate:.2f}")
    if "usage" not in source:
        way = "gauge" if re.search("gauge|server|metric|prometheus", source) else \
            "characters" if re.search("char|chunk|estimat", source) else "unknown"
        return way, f"the row says that its tokens come from {source}"
    if not tokens:
        return "claimed", f"the row says that its tokens come from {source}, and keeps none of them"
    if gauge and abs(gauge - rate) <= 0.05 * rate:
        return USAGE, f"{source} over {seconds:g} s, and the server's own counter says {gauge:.1f} tok/s"
    stated = f"the row says that its tokens come from {source}"
    if gauge:
        return "disputed", f"{stated}; the server's own counter says {gauge:.1f} tok/s"
    return "claimed", f"{stated}; the file keeps neither texts nor the server's own count"


def _run(row: Mapping[str, Any], duration: float, limit: float) -> Run:
    if row.get("aggregate_source"):
        return _sourced(row)
    streams = max(1, int(_number(row.get("concurrency")) or 1))
    tokens, wall = _number(row.get("total_tokens")), _number(row.get("wall_time"))
    rate, errors = _number(row.get("aggregate_tps")), _number(row.get("num_errors"))
    way, why = _way(row, tokens, wall, rate, duration, limit * streams)
    if errors:
        way, why = "unknown", f"{errors:.0f} of its requests failed"
    elif tokens and not rate:
        way, why = "unknown", f"it has {tokens:.0f} tokens and a rate of 0"
    usage = Usage(0, int(tokens)) if way == USAGE else None
    kind = "timed" if streams == 1 and not row.get("context_tokens") else "published"
    first = _number(row.get("ttft_avg")) or None
    return Run(kind, int(limit) * streams or int(tokens), usage, last_s=wall or None, first_s=first, error=why,
               group=streams, finish="length" if way == USAGE else None, counted_by=way)


def _way(row: Mapping[str, Any], tokens: float, wall: float, rate: float, duration: float,
         most: float) -> tuple[str, str]:
    """Return how the row's tokens were counted, and what shows it."""
    if not tokens or not wall:
        return "unknown", "it has no tokens or no wall time"
    characters = _number(row.get("total_chars")) or _number(row.get("characters"))
    if characters and tokens == round(characters / 4):
        return "characters", f"{tokens:.0f} is round({characters:.0f} / 4)"
    shown = f"{tokens:.0f} / {wall:.3f} s = {tokens / wall:.2f}"
    if abs(rate - tokens / wall) > max(0.006, 1e-4 * rate):
        gauge = _number(row.get("server_gen_throughput"))
        if gauge and abs(gauge - rate) <= 0.01 * rate:
            return "gauge", f"{rate:.2f} is the server's gauge, {shown} is not"
        return "unknown", f"it says {rate:.2f}, {shown} does not agree"
    said = [str(name) for name, value in row.items() if ("fallback" in str(name).lower() and value)
            or (isinstance(value, str) and re.search(r"(?i)chunk|fallback|estimat", value))]
    if said:
        return "unknown", f"the row itself says that they were not taken from usage ({', '.join(said[:3])})"
    if most and tokens >= most:
        return USAGE, ""
    cut = duration and wall >= duration
    silent = not any(_number(row.get(name)) for name in ("server_utilization", "server_spec_accept_rate"))
    if cut and silent:
        return "characters", (f"{shown} is its rate; the stream was cut at {duration:g} s, before the engine's usage, "
                              f"with {tokens:.0f} of {most:.0f} tokens, and the server's own metrics were silent")
    return "unknown", f"{shown} is its rate, but nothing shows what was counted"


def _number(value: object) -> float:
    """Return the value as a number; 0 for what is no finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18
    return float(value) if good else 0.0  # type: ignore[arg-type]
