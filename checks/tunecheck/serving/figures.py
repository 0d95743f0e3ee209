"""Findings about the speed of a served model: one stream's rate and its spread, time to the first token, streams at
once. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from ..model.acceptance_codes import OK
from ..model.finding import Finding, Remedy
from ..recipes.frozen import Expected
from .measured import USAGE, Measured

__all__ = ["concurrency", "finding", "rates", "speed", "spread", "ttft"]

_AGAIN = "look at tunecheck preflight --full and at clocks, power and temperature; then measure again"


def finding(check: str, code: str, subject: str, outcome: str, text: str, observed: str = "", expected: str = "",
            fix: str = "") -> Finding:
    """Return a finding of the running engine's behaviour. ``code``: one of codes.CODES; ``fix``: how to put it
    right."""
    return Finding(check, code, subject, outcome, "behaviour", text, observed, expected, (),
                   Remedy(fix) if fix else None)


def rates(seen: Measured) -> list[float]:
    """Return the tokens per second by wall time of every timed run that was counted."""
    return [run.rate for run in seen.of("timed") if run.rate and not run.broken and run.counted_by == USAGE]


def spread(tok_s: list[float]) -> float:
    """Return the difference of the fastest and the slowest rate, in percent of the median."""
    return 100 * (max(tok_s) - min(tok_s)) / statistics.median(tok_s)


def speed(seen: Measured, expected: Expected | None, golden: bool, boot_floor: float) -> Iterator[Finding]:
    tok_s = rates(seen)
    if not tok_s:
        if seen.of("timed") or seen.stopped:
            yield finding("speed", "not-counted", "C=1", "skip", "no run was counted, so there is no figure")
        return
    median = statistics.median(tok_s)
    figure = f"{median:.1f} tok/s at one stream by wall time, median of {len(tok_s)}"
    wanted = expected.value if expected and expected.metric == "decode_tok_s_c1" else None
    if wanted is None or expected is None:
        yield finding("speed", "no-figure-expected", "C=1", "skip", f"{figure}; no figure is expected of one stream",
                      f"{median:.1f}")
    else:
        tol = expected.tol_pct / 100
        low = wanted * (boot_floor if seen.profile == "boot" else 1 - tol)
        band = f"{low:.1f} to {wanted * (1 + tol):.1f} tok/s" + ("" if golden else f" (published, counted by "
                                                                 f"{expected.counted_by}: advisory)")
        if median < low:
            yield finding(
                "speed", "too-slow", "C=1", "fail" if golden else "warn", f"too slow: {figure}", f"{median:.1f}",
                band, _AGAIN)
        elif median > wanted * (1 + tol):
            yield finding("speed", "too-fast", "C=1", "warn", f"too fast: {figure}", f"{median:.1f}", band,
                          "another model, another counter, or a cache: find out which before believing it")
        else:
            yield finding("speed", OK, "C=1", "pass", figure, f"{median:.1f}", band)
    if len(tok_s) > 1:
        yield from _spread(tok_s, expected)


def _spread(tok_s: list[float], expected: Expected | None) -> Iterator[Finding]:
    size = spread(tok_s)
    text = f"{len(tok_s)} runs lie {size:.1f} % apart ({', '.join(f'{each:.1f}' for each in tok_s)})"
    if expected is None:
        yield finding("spread", "no-limit", "C=1", "skip", f"{text}; no limit is given", f"{size:.1f}")
        return
    good = size <= expected.spread_pct
    code, outcome = (OK, "pass") if good else ("too-wide", "fail")
    yield finding(
        "spread", code, "C=1", outcome, text, f"{size:.1f} %", f"at most {expected.spread_pct:g} %",
        "" if good else "let nothing else run, warm up, and restart the engine: its autotuner may have chosen "
                        "differently")


def ttft(seen: Measured, expected: Expected | None, golden: bool, slack: float) -> Iterator[Finding]:
    points = [run for run in seen.of("ladder") if run.usage and run.first_s is not None]
    ceilings = expected.ttft_s if expected else {}
    late, judged = [], 0
    for run in points:
        assert run.usage and run.first_s is not None
        near = next((size for size in ceilings if abs(run.usage.prompt - size) <= 0.1 * size), None)
        if near is None:
            continue
        judged += 1
        if run.first_s > ceilings[near] * slack:
            late.append((run, ceilings[near] * slack))
    for run, most in late:
        yield finding(
            "ttft", "too-late", str(run.target), "fail" if golden else "warn", f"the first token of a prompt of "
            f"{run.usage.prompt if run.usage else 0} tokens took {run.first_s:.3f} s", f"{run.first_s:.3f} s",
            f"at most {most:.3f} s", _AGAIN)
    left = seen.notes.get("ttft", "")
    shown = ", ".join(f"{run.usage.prompt}: {run.first_s:.3f} s" for run in points if run.usage)
    if points and not late:
        code, outcome = (OK, "pass") if judged else ("no-figure-expected", "skip")
        yield finding("ttft", code, "ladder", outcome, f"first token by prompt tokens: {shown}"
                      + ("" if judged else "; none of these sizes has a figure") + (f"; {left}" if left else ""))
    elif left:
        yield finding("ttft", "left-out", "ladder", "skip", left)


def concurrency(seen: Measured, expected: Expected | None, golden: bool) -> Iterator[Finding]:
    best = 0.0
    parts = []
    for streams, seconds in seen.groups.items():
        rate = seen.together(streams) / seconds if seconds else 0.0
        best = max(best, rate)
        parts.append(f"{streams}: {rate:.1f} tok/s")
    aggregate = expected is not None and expected.metric == "aggregate_tok_s" and expected.value is not None
    if not parts:
        if aggregate and seen.profile != "boot":
            yield finding("concurrency", "not-asked", "streams", "unknown",
                          "the expected figure is of many streams at once, and none were asked for", "", "",
                          "give --concurrency 1,16,64,256")
        return
    shown = f"streams at once: {', '.join(parts)}"
    if not aggregate or expected is None or expected.value is None:
        yield finding("concurrency", "no-figure-expected", "streams", "skip", f"{shown}; no figure is expected of them",
                      f"{best:.1f}")
        return
    good = best >= expected.value * (1 - expected.tol_pct / 100)
    code, outcome = (OK, "pass") if good else ("too-slow", "fail" if golden else "warn")
    yield finding("concurrency", code, "streams", outcome, shown, f"{best:.1f}",
                  f"{expected.value:g} tok/s", "" if good else _AGAIN)
