"""The plots of a load: latencies and throughput by level and over time, and what the GPUs did meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...report.html.plot import Plot, Series, plot

__all__ = ["LoadPage", "load_page"]

#: The classes of measured.css, each with a form of its own for those who see no colours.
_INK = ("own", "nccl", "nccl-staged")
_UNIT = {"closed": "streams at once", "open": "requests a second"}
_MOST_STEPS = 24


@dataclass(frozen=True)
class LoadPage:
    """The part of the page about a load. ``rows``: of the table, one a step; ``gpus``: rows of the table of GPUs."""

    rows: list[tuple[str, ...]]
    gpus: list[tuple[str, ...]]
    plots: list[Plot]


def load_page(steps: Sequence[Mapping[str, Any]]) -> LoadPage | None:
    """Return the part of the page about a load; None where no load was asked for. A stored document may hold anything
    that its schema allows."""
    steps = steps[:_MOST_STEPS]
    if not steps:
        return None
    found = [drawn for mode, axis in _UNIT.items() for drawn in _by_level(
        mode, axis, [each for each in steps if each["mode"] == mode])]
    found += [*_over_time(steps), *_gpus(steps)]
    gpus = [_gpu(each, gpu) for each in steps for gpu in each["devices"] or ()]
    return LoadPage([_row(each) for each in steps], gpus, [each for each in found if each])


def _by_level(mode: str, axis: str, steps: Sequence[Mapping[str, Any]]) -> Iterator[Plot | None]:
    for name, part in (("Time to the first token", "ttft_s"), ("Time between tokens (ITL)", "itl_s")):
        points = tuple((each["level"], 1000 * each[part]["p50"], 1000 * each[part]["p99"]) for each in steps
                       if each[part] and each["level"] > 0 and _sane(each[part]["p50"], each[part]["p99"]))
        yield plot(f"plot-load-{mode}-{part[:-2]}", f"{name} by {axis}, p50 and up to p99", "ms",
                   [Series("own", "p50", _once(points))], logarithmic=True, axis=axis, words=_number, form=".2f")
    points = tuple((each["level"], each["tok_s"], each["tok_s"]) for each in steps if each["level"] > 0
                   and _sane(each["tok_s"]))
    yield plot(f"plot-load-{mode}-rate", f"Tokens per second by {axis}", "tok/s", [Series("own", "all", _once(points))],
               logarithmic=False, axis=axis, words=_number)


def _over_time(steps: Sequence[Mapping[str, Any]]) -> Iterator[Plot | None]:
    """Yield the plots over time, every step behind the one before it."""
    rate: list[tuple[float, float, float]] = []
    ttft: list[tuple[float, float, float]] = []
    begun = 0.0
    for step in steps:
        for part in step.get("windows") or ():
            at = begun + part["at"]
            if _sane(part["tok_s"]):
                rate.append((at, part["tok_s"], part["tok_s"]))
            if part["ttft_s"] and _sane(part["ttft_s"]["p50"], part["ttft_s"]["most"]):
                ttft.append((at, 1000 * part["ttft_s"]["p50"], 1000 * part["ttft_s"]["most"]))
        begun += step["seconds"]
    yield plot("plot-load-time-rate", "Tokens per second over the whole load", "tok/s",
               [Series("own", "all", tuple(rate))], logarithmic=False, axis="seconds", words=_number, even=True)
    yield plot("plot-load-time-ttft", "Time to the first token over the whole load, p50 and up to the longest", "ms",
               [Series("own", "p50", tuple(ttft), "longest")], logarithmic=True, axis="seconds", words=_number,
               form=".2f", even=True)


def _gpus(steps: Sequence[Mapping[str, Any]]) -> Iterator[Plot | None]:
    """Yield the plots of clock, power and temperature. Each has three GPUs, since more lines are not told apart: those
    with the lowest clocks."""
    for at, (title, unit) in enumerate((("SM clock", "MHz"), ("Power", "W"), ("Temperature", "degrees C")), 1):
        lines: dict[str, list[tuple[float, float, float]]] = {}
        begun = 0.0
        for step in steps:
            for gpu in step["devices"] or ():
                for look in gpu.get("line") or ():
                    if len(look) > at and _sane(look[at]):
                        lines.setdefault(gpu["bdf"], []).append((begun + (look[0] or 0.0), look[at], look[at]))
            begun += step["seconds"]
        slowest = sorted(lines, key=lambda bdf: sum(value for _, value, _ in lines[bdf]) / len(lines[bdf]))
        chosen = sorted(slowest[:len(_INK)] if at == 1 else slowest[-len(_INK):])
        what = "the lowest" if at == 1 else "the highest"
        more = f", {what} {len(_INK)} of {len(lines)} GPUs" if len(lines) > len(_INK) else ""
        yield plot(f"plot-load-gpu-{at}", f"{title} over the whole load{more}", unit,
                   [Series(ink, bdf, _once(tuple(lines[bdf]))) for ink, bdf in zip(_INK, chosen, strict=False)],
                   logarithmic=False, axis="seconds", words=_number, form=".0f", even=True)


def _row(step: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a step: load, seconds, requests, failed, tok/s, requests/s, TTFT, ITL and E2E at p50, p90 and
    p99 in ms, goodput."""
    unit = "streams" if step["mode"] == "closed" else "requests/s"
    good = step["goodput"]
    return (f"{step['level']:g} {unit}", f"{step['seconds']:g}", str(step["requests"]), str(step["failed"]),
            f"{step['tok_s']:.1f}", f"{step['requests_s']:.2f}",
            *(f"{1000 * step[part][key]:.1f}" if step[part] else "-" for part in ("ttft_s", "itl_s", "e2e_s")
              for key in ("p50", "p90", "p99")),
            f"{good['share']:.1%}" if good else "-")


def _gpu(step: Mapping[str, Any], gpu: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a GPU: load, GPU, lowest and median clock, median and highest power, highest temperature,
    what slowed it down."""
    unit = "streams" if step["mode"] == "closed" else "requests/s"
    clock, power, heat = gpu["sm_mhz"], gpu["power_w"], gpu["temperature_c"]
    slow = ", ".join(f"{name} {share:.0%}" for name, share in gpu["throttled"].items())
    return (f"{step['level']:g} {unit}", gpu["bdf"], *((f"{clock[0]:.0f}", f"{clock[1]:.0f}") if clock else ("-", "-")),
            *((f"{power[1]:.0f}", f"{power[2]:.0f}") if power else ("-", "-")), f"{heat[2]:.0f}" if heat else "-",
            slow or "nothing")


def _once(points: Sequence[tuple[float, float, float]]) -> tuple[tuple[float, float, float], ...]:
    """Return one point for each place, ascending: the same level may have been asked for twice."""
    return tuple(sorted({point[0]: point for point in points}.values()))


def _sane(*values: Any) -> bool:
    """Whether a plot can show all the values: a logarithm needs more than 0, and a picture an end."""
    return all(isinstance(each, (int, float)) and math.isfinite(each) and 1e-6 < each < 1e9 for each in values)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
