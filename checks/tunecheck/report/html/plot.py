"""Where the lines and words of a plot go. The size axis is logarithmic, or even where it is time; drawn by
measured.html.j2 as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...rules.measured.reduce_figures import sized
from ...util.at_first_use import dataclass

__all__ = ["BOTTOM", "HEIGHT", "LEFT", "RIGHT", "TOP", "WIDTH", "Curve", "Mark", "Plot", "Series", "below", "plot",
           "steps"]  # fmt: skip

WIDTH, HEIGHT = 610, 290
LEFT, RIGHT, TOP, BOTTOM = 46, 104, 26, 42
_LABEL = 46         # pixels that a label below the axis takes
_TICKS = 10         # on the value axis
_LINE = 14          # pixels between two names at the right end


@dataclass(frozen=True)
class Series:
    """One line of a plot. ``points``: size (bytes, tokens, streams, seconds), value, and the upper end of the band (the
    value if there is none), which ``above`` names."""

    id: str
    name: str
    points: tuple[tuple[float, float, float], ...]
    above: str = "p99"


@dataclass(frozen=True)
class Mark:
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Curve:
    id: str
    name: str
    path: str
    band: str
    marks: tuple[Mark, ...]
    label: Mark


@dataclass(frozen=True)
class Plot:
    """A plot that is ready to be drawn. ``cross``: a vertical line with its words. ``below`` and ``beside``: the ticks;
    an empty text is a tick only."""

    id: str
    title: str
    unit: str
    axis: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    below: tuple[Mark, ...]
    beside: tuple[Mark, ...]
    curves: tuple[Curve, ...]
    cross: Mark | None


def plot(name: str, title: str, unit: str, series: Sequence[Series], *, logarithmic: bool,
         cross: tuple[float, str] | None = None, axis: str = "bytes per message",
         words: Callable[[Any], str] = sized, form: str = ".1f", even: bool = False) -> Plot | None:
    """Return the plot of these series; None where no series has two points, as a line needs them. ``cross``: size and
    words of the vertical line. ``axis``: what sizes are; ``words``: one size in words; ``form``: format of a value
    where it is pointed at; ``even``: sizes are placed by their difference, not by their ratio."""
    drawn = [each for each in series if len(each.points) > 1]
    points = [point for each in drawn for point in each.points]
    if not points:
        return None
    sizes = sorted({size for size, _, _ in points})
    low, high = min(value for _, value, _ in points), max(most for _, _, most in points)
    ticks = _decades(low, high) if logarithmic else steps(high)
    bottom, top = (math.log(ticks[0]), math.log(ticks[-1])) if logarithmic else (0.0, ticks[-1])
    span = max(sizes[-1] - sizes[0] if even else math.log(sizes[-1] / sizes[0]), 1e-9)

    def across(size: float) -> float:
        share = (size - sizes[0] if even else math.log(size / sizes[0])) / span
        return round(LEFT + 14 + (WIDTH - LEFT - RIGHT - 28) * share, 1)

    def up(value: float) -> float:
        at = ((math.log(value) if logarithmic else value) - bottom) / (top - bottom)
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * at, 1)

    def with_unit(value: float) -> str:
        return f"{value:{form}} {unit}"

    curves = [_curve(each, with_unit, words, [(across(size), up(value), up(most)) for size, value, most in each.points])
              for each in drawn]
    return Plot(name, title, unit, axis, WIDTH, HEIGHT, LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM,
                tuple(below([(across(size), words(size)) for size in sizes])),
                tuple(Mark(LEFT, up(value), f"{value:g}") for value in ticks),
                tuple(_apart(curves)), Mark(across(cross[0]), TOP, cross[1]) if cross else None)


def _curve(each: Series, with_unit: Callable[[float], str], words: Callable[[Any], str],
           at: Sequence[tuple[float, float, float]]) -> Curve:
    path = "M" + "L".join(f"{x} {y}" for x, y, _ in at)
    band = "M" + "L".join(f"{x} {y}" for x, y, _ in at) + "".join(f"L{x} {y}" for x, _, y in reversed(at)) + "Z"
    marks = []
    for (x, y, _), (size, value, most) in zip(at, each.points, strict=True):
        tail = f", {each.above} {with_unit(most)}" if most != value else ""
        marks.append(Mark(x, y, f"{words(size)}, {each.name}: {with_unit(value)}{tail}"))
    banded = any(most != value for _, value, most in each.points)
    return Curve(each.id, each.name, path, band if banded else "", tuple(marks), Mark(at[-1][0] + 9, at[-1][1] + 4,
                                                                                     each.name))


def _apart(curves: Iterable[Curve]) -> list[Curve]:
    """Return the curves with their names at the right end moved so that they do not overlap: pushed down, and up again
    where the picture ends."""
    ordered = sorted(curves, key=lambda each: each.label.y)
    places = [each.label.y for each in ordered]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + _LINE)
    for index in reversed(range(len(places))):
        limit = places[index + 1] - _LINE if index + 1 < len(places) else HEIGHT - BOTTOM + 4
        places[index] = min(places[index], limit)
    return [Curve(each.id, each.name, each.path, each.band, each.marks, Mark(each.label.x, round(place, 1), each.name))
            for each, place in zip(ordered, places, strict=True)]


def below(ticks: Sequence[tuple[float, str]]) -> list[Mark]:
    """Return the ticks below the plot. The last tick always has its words, the others where there is room."""
    marks: list[Mark] = []
    last = ticks[-1][0]
    before = -math.inf
    for x, text in ticks:
        room = x - before >= _LABEL and (x == last or last - x >= _LABEL)
        before = x if room or x == last else before
        marks.append(Mark(x, HEIGHT - BOTTOM, text if room or x == last else ""))
    return marks


def _decades(low: float, high: float) -> list[float]:
    """Return the ticks 1, 2, 5, 10, ... around the values, or only the powers of ten where those are many."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for steps in ((1, 2, 5), (1,)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        first = max(place for place, tick in enumerate(ticks) if tick < low)
        last = min(place for place, tick in enumerate(ticks) if tick > high)
        if last - first < _TICKS:
            break
    return ticks[first:last + 1]


def steps(high: float) -> list[float]:
    """Return four or five even steps from 0 to above the highest value."""
    raw = max(high, 1e-9) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    return [step * number for number in range(math.floor(high / step) + 2)]
