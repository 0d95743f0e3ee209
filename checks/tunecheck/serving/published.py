"""Published raw benchmark files, judged like our own runs: how were their tokens counted?

The form is that of a client that many published figures come from: ``metadata`` (duration_per_test, max_tokens, ...)
and ``results`` (concurrency, aggregate_tps, total_tokens, wall_time, num_completed, server_gen_throughput, ...). It
drops every stream at ``duration_per_test`` seconds, so before the engine's usage in its last event, and then takes
round(characters / 4) for tokens, where it could not read the server's gauge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from .measured import USAGE, Measured, Run, Usage

__all__ = ["is_published", "measured_of_published"]


def is_published(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("metadata"), dict) and isinstance(data.get("results"), list)


def measured_of_published(data: Mapping[str, Any], where: str) -> Measured:
    """Every row as a run; ``error`` says what gives its counting away. UsageError for a file without rows."""
    head = data["metadata"]
    rows = [row for row in data["results"] if isinstance(row, dict)]
    if not rows:
        raise UsageError(f"{where}: it has no results; expected at least one")
    duration, limit = _number(head.get("duration_per_test")), _number(head.get("max_tokens"))
    runs = tuple(_run(row, duration, limit) for row in rows)
    return Measured(runs, "published", sum(run.tokens for run in runs), engine=str(head.get("engine") or "unknown"),
                    no_counter="a published file has none", model=str(head.get("model") or ""))


def _run(row: Mapping[str, Any], duration: float, limit: float) -> Run:
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
        group=streams,
               finish="length" if way == USAGE else None, counted_by=way)


def _way(row: Mapping[str, Any], tokens: float, wall: float, rate: float, duration: float,
         most: float) -> tuple[str, str]:
    """How the row's tokens were counted, and what shows it."""
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
    """0 for what is no finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18
    return float(value) if good else 0.0  # type: ignore[arg-type]
