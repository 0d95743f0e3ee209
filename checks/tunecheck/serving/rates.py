"""Figures of a load: percentiles of TTFT, ITL and E2E, throughput, goodput, and what the GPUs did. Pure.

TTFT: from the sending of a request to its first text. ITL: (last - first) / (tokens - 1) of a request, so that several
tokens in one event do not count as one. E2E: to the last text. Throughput: tokens that fell into the step's own time,
so that neither its first nor its last requests count for more than they gave."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .load import Answer, Step

__all__ = ["figures", "percentiles"]

_AT = (50, 90, 95, 99)
_SHOWN = ("sm_mhz", "power_w", "temperature_c")
#: NVML's reasons for a lower clock that are no fault: idle, and what an operator set.
_HARMLESS = ("gpu_idle", "applications_clocks_setting", "display_clock_setting")
#: Parts of a step, and points of a GPU's line: enough to see a drift, few enough for a file.
_WINDOWS, _POINTS = 24, 120


def percentiles(values: Sequence[float]) -> dict[str, float] | None:
    """Return p50 to p99, mean and most; by interpolation, as numpy does it, and so the clients of vLLM and aiperf.
    guidellm takes the nearest rank (statistics.py, searchsorted): of 30 requests its p99 is the longest. None for no
    values."""
    if not values:
        return None
    found = sorted(values)

    def at(share: float) -> float:
        place = share / 100 * (len(found) - 1)
        low = int(place)
        high = min(low + 1, len(found) - 1)
        return found[low] + (found[high] - found[low]) * (place - low)

    return {**{f"p{share}": at(share) for share in _AT}, "mean": statistics.fmean(found), "most": found[-1]}


def figures(step: Step, slo: Mapping[str, float]) -> dict[str, Any]:
    """Return the figures of one step of a load as plain data for JSON: times in seconds, rates per second. ``slo``:
    seconds by ttft, itl and e2e, within which an answer counts as good."""
    good = [each for each in step.answers if each.good]
    ttft = [each.first - each.sent for each in good if each.first is not None]
    itl = [found for each in good if (found := _itl(each)) is not None]
    whole = [each.last - each.sent for each in good if each.last is not None]
    kept = [each for each in good if _within(each, slo)]
    errors = sorted({each.error[:120] for each in step.answers if not each.good and each.error})[:4]
    return {
        "mode": step.mode, "level": step.level, "seconds": step.seconds, "requests": len(step.answers),
        "failed": len(step.answers) - len(good), "errors": errors, "behind": step.behind,
        "tok_s": sum(_inside(each, step.seconds) for each in good) / step.seconds,
        "requests_s": sum(each.last is not None and each.last <= step.seconds for each in good) / step.seconds,
        "ttft_s": percentiles(ttft), "itl_s": percentiles(itl), "e2e_s": percentiles(whole),
        "late_s": max((each.sent - each.due for each in step.answers), default=0.0),
        "goodput": {"slo": dict(slo), "share": len(kept) / len(step.answers) if step.answers else 0.0,
                    "requests_s": sum(each.last is not None and each.last <= step.seconds for each in kept)
                    / step.seconds} if slo else None,
        "devices": _devices(step.devices), "windows": _windows(good, step.seconds),
        "missed": sum("missed" in each for each in step.devices),
    }


def _windows(good: Sequence[Answer], seconds: float) -> list[dict[str, Any]]:
    """Return the figures of even parts of the step, by when a request was sent: does a server that is warm get slower?
    Tokens a second are those delivered in the part."""
    each = seconds / _WINDOWS
    found = []
    for number in range(_WINDOWS):
        begun, ended = number * each, (number + 1) * each
        sent = [answer for answer in good if begun <= answer.sent < ended]
        ttft = percentiles([answer.first - answer.sent for answer in sent if answer.first is not None])
        itl = percentiles([value for answer in sent if (value := _itl(answer)) is not None])
        tokens = sum(_inside(answer, ended) - _inside(answer, begun) for answer in good)
        found.append({"at": ended, "requests": len(sent), "tok_s": tokens / each,
                      "ttft_s": ttft and {"p50": ttft["p50"], "most": ttft["most"]},
                      "itl_s": itl and {"p50": itl["p50"], "most": itl["most"]}})
    return found


def _itl(answer: Answer) -> float | None:
    if answer.first is None or answer.last is None or answer.tokens < 2:
        return None
    return (answer.last - answer.first) / (answer.tokens - 1)


def _inside(answer: Answer, seconds: float) -> float:
    """Return how many tokens of an answer came before ``seconds`` of the step, taken as even between first and last."""
    if answer.first is None or answer.last is None or answer.first >= seconds:
        return 0.0
    if answer.last <= seconds or answer.last <= answer.first:
        return float(answer.tokens)
    return answer.tokens * (seconds - answer.first) / (answer.last - answer.first)


def _within(answer: Answer, slo: Mapping[str, float]) -> bool:
    itl = _itl(answer)
    told = {"ttft": (answer.first or 0) - answer.sent, "e2e": (answer.last or 0) - answer.sent, "itl": itl or 0.0}
    return all(told[name] <= most for name, most in slo.items())


def _devices(samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return for each GPU: clock, power and temperature, lowest, median and highest, the reasons that throttled it with
    the share of looks at which they held, and its line: seconds, MHz, W and degrees of some of the looks. None where
    nobody was asked."""
    if not samples:
        return None
    boards: dict[str, list[tuple[float, Mapping[str, Any]]]] = {}
    for each in samples:
        for board in each.get("gpus", ()):
            boards.setdefault(str(board["bdf"]), []).append((float(each.get("at", 0.0)), board))
    return [{"bdf": bdf, **{name: _span([look[name] for _, look in looks if isinstance(look.get(name), (int, float))])
                            for name in _SHOWN},
             "throttled": _reasons([look for _, look in looks]), "looks": len(looks),
             "line": [[at, *(look.get(name) for name in _SHOWN)]
                      for at, look in looks[::max(1, math.ceil(len(looks) / _POINTS))]]}
            for bdf, looks in sorted(boards.items())]


def _span(values: Sequence[float]) -> list[float] | None:
    return [min(values), statistics.median(values), max(values)] if values else None


def _reasons(looks: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    every = [reason for look in looks for reason in look.get("reasons") or () if reason not in _HARMLESS]
    return {reason: every.count(reason) / len(looks) for reason in sorted(set(every))}
