"""Where the bars and words of the drift timeline go: one bar per audit, how many values changed; below it, how many
hosts answered. Drawn by fleet.html.j2 as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunecheck.util.at_first_use import dataclass

from ..text import clock, days

__all__ = ["Bar", "Timeline", "timeline"]

#: Audits that are drawn, the newest; the document has them all.
_MOST = 120
_LEFT, _RIGHT, _TOP, _HEIGHT, _GAP, _STRIP, _BELOW = 46, 16, 16, 120, 16, 34, 24
_WIDTH = 1216
_WIDEST = 24        # pixels of a bar and its gap
_LABEL = 92         # pixels that a date takes
_MOSTLY = 0.98


@dataclass(frozen=True)
class Bar:
    """``answered_y`` and ``answered_height``: its part of the strip below; ``thin``: clearly fewer hosts than usual."""

    x: float
    y: float
    width: float
    height: float
    title: str
    newest: bool
    answered_y: float
    answered_height: float
    thin: bool


@dataclass(frozen=True)
class Timeline:
    """``ticks``: (y, text) beside the bars; ``dates``: (x, text) below. ``rows``: (audit, date, changes, answered),
    newest first. ``left_out``: older audits that are not drawn."""

    width: int
    height: int
    left: int
    right: float
    base: int
    strip: int
    strip_base: int
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    dates: tuple[tuple[float, str], ...]
    most: int
    rows: tuple[tuple[int, str, int, int], ...]
    left_out: int


def timeline(points: Sequence[tuple[int, float, int, int]]) -> Timeline | None:
    """``points``: (audit, time, changed values, hosts that answered), oldest first; None where there are fewer than
    two."""
    drawn = points[-_MOST:]
    if len(drawn) < 2:
        return None
    step = min(_WIDEST, (_WIDTH - _LEFT - _RIGHT) / len(drawn))
    base, strip = _TOP + _HEIGHT, _TOP + _HEIGHT + _GAP
    top = _ceiling(max(changes for _, _, changes, _ in drawn))
    most = max(max(answered for *_, answered in drawn), 1)
    bars = []
    for place, (number, at, changes, answered) in enumerate(drawn):
        # One change in a thousand is seen, too.
        height = max(2.0, _HEIGHT * changes / top) if changes else 0.0
        share = _STRIP * answered / most
        title = f"#{number}, {clock(at)}: {changes} values changed, {answered} hosts answered"
        bars.append(Bar(round(_LEFT + place * step + step * 0.1, 1), round(base - height, 1), round(step * 0.8, 1),
                        round(height, 1), title, place == len(drawn) - 1, round(strip + _STRIP - share, 1),
                        round(share, 1), answered < _MOSTLY * most))
    right = _LEFT + len(drawn) * step
    every = max(1, math.ceil(_LABEL / step))
    # Counted from the newest, which always has its date.
    dates = tuple((round(bars[place].x + bars[place].width, 1), days(drawn[place][1]))
                  for place in range(len(drawn) - 1, -1, -every)
                  if bars[place].x - _LEFT > 60 or place == len(drawn) - 1)
    return Timeline(max(round(right + _RIGHT), 320), strip + _STRIP + _BELOW, _LEFT, round(right, 1), base, strip,
                    strip + _STRIP, tuple(bars),
                    tuple((round(base - _HEIGHT * part, 1), f"{top * part:g}") for part in (0.0, 0.5, 1.0)), dates,
                    most,
                    tuple((number, clock(at), changes, answered) for number, at, changes, answered in reversed(drawn)),
                    len(points) - len(drawn))


def _ceiling(value: int) -> int:
    """The next 2, 4, 6, 10 or 20, 40, ... at or above ``value``: half of it is a whole number."""
    if value <= 2:
        return 2
    power = int(10 ** math.floor(math.log10(value)))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value and step * power % 2 == 0)
