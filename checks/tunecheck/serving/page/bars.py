"""Where the bars, lines and words of a bar chart go: runs side by side, and a histogram over a logarithmic axis. Drawn
by accept.html.j2 as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...report.html.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Mark, below, steps
from ...util.at_first_use import dataclass
from ..gaps import FIRST, LAST, PER_DECADE, edge

__all__ = ["Bar", "Chart", "Level", "histogram", "runs"]

#: A bar that stands for something is seen.
_LEAST = 2.0
_WIDEST = 72.0
#: Half of one factor of ten beside the outermost bars.
_ASIDE = PER_DECADE // 2
_LINE = 14


@dataclass(frozen=True)
class Bar:
    """One bar. ``tooltip``: the words where it is pointed at; ``text``: the words at its foot, "" for none."""

    x: float
    y: float
    width: float
    height: float
    tooltip: str
    text: str


@dataclass(frozen=True)
class Level:
    """A line across, at ``at``, named at ``label``; ``top`` and ``height``: its band, of height 0 for none."""

    kind: str
    at: float
    label: float
    text: str
    top: float = 0.0
    height: float = 0.0


@dataclass(frozen=True)
class Chart:
    """A bar chart that is ready to be drawn. ``below`` and ``beside``: the ticks; ``crosses``: vertical lines with
    their words."""

    id: str
    title: str
    unit: str
    axis: str
    below: tuple[Mark, ...]
    beside: tuple[Mark, ...]
    bars: tuple[Bar, ...]
    levels: tuple[Level, ...] = ()
    crosses: tuple[Mark, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def runs(values: Sequence[float], median: float, expected: tuple[float, float, float, str] | None) -> Chart | None:
    """Return a chart with one bar a run, or None without runs. Bars begin at 0, so that what looks alike is alike.
    ``expected``: figure, least, most, and its name."""
    if not values:
        return None
    ticks = steps(max(*values, expected[2] if expected else 0.0, median))

    def up(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / ticks[-1], 1)

    each = (WIDTH - LEFT - RIGHT) / len(values)
    width = min(_WIDEST, 0.7 * each)
    bars = []
    for number, value in enumerate(values):
        y = min(up(value), HEIGHT - BOTTOM - _LEAST)
        middle = LEFT + each * (number + 0.5)
        height = round(HEIGHT - BOTTOM - y, 1)
        room = each >= 48 and height > _LINE + 8
        bars.append(Bar(round(middle - width / 2, 1), y, round(width, 1), height,
                        f"run {number + 1}: {value:.1f} tok/s", f"{value:.1f}" if room else ""))
    levels = [Level("median", up(median), up(median) + 4, f"median {median:.1f}")]
    if expected:
        figure, least, most, name = expected
        at = up(figure)
        label = at + 4
        if abs(label - levels[0].label) < _LINE:        # the higher figure's name goes up
            label = levels[0].label + (_LINE if figure < median else -_LINE)
        levels.insert(0, Level("expected", at, label, f"{name} {figure:g}", up(most), round(up(least) - up(most), 1)))
    middles = [(LEFT + each * (number + 0.5), f"run {number + 1}") for number in range(len(values))]
    return Chart("plot-runs", "Tokens per second of each run", "tok/s", "runs, one after the other",
                 tuple(below([(round(x, 1), text) for x, text in middles])),
                 tuple(Mark(LEFT, up(value), f"{value:g}") for value in ticks), tuple(bars), tuple(levels))


def histogram(bins: Mapping[int, int], marks: Sequence[tuple[float, str]]) -> Chart | None:
    """Return a chart of bins as serving/gaps.py has them, in ms, or None without any. ``marks``: a figure in ms and its
    words, the first one's on the left."""
    there = {number: count for number, count in bins.items() if FIRST <= number <= LAST and count > 0}
    total = sum(there.values())
    if not total:
        return None
    first, last = min(there) - _ASIDE, max(there) + 1 + _ASIDE
    ticks = steps(100 * max(there.values()) / total)

    def across(number: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (number - first) / (last - first), 1)

    bars = []
    for number, count in sorted(there.items()):
        share = 100 * count / total
        height = max(_LEAST, round((HEIGHT - TOP - BOTTOM) * share / ticks[-1], 1))
        bars.append(Bar(across(number), round(HEIGHT - BOTTOM - height, 1),
                        round(max(1.0, across(number + 1) - across(number) - 0.5), 1), height,
                        f"{edge(number):.3g} to {edge(number + 1):.3g} ms: {count} of {total} ({share:.3g} %)", ""))
    scale = [(PER_DECADE * (power + math.log10(step)), float(f"{step}e{power}"))
             for power in range(-4, 6) for step in (1, 2, 5)]
    shown = [(across(place), f"{value:g}") for place, value in scale if first <= place <= last]
    crosses = tuple(Mark(min(max(across(PER_DECADE * math.log10(value)), LEFT), WIDTH - RIGHT), TOP, text)
                    for value, text in marks if value > 0)
    return Chart("plot-gaps", "Time between two arrivals of text", "%", "milliseconds", tuple(below(shown)),
                 tuple(Mark(LEFT, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / ticks[-1], f"{value:g}")
                       for value in ticks), tuple(bars), crosses=crosses)
