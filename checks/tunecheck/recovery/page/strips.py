"""Plots of minutes before an event: many samples a line, gaps where nothing was told, drawn by incident.html.j2.

Seconds are counted from the event: negative ones lie before it. Each line has a dash of its own and its name at its
end, so that nothing hangs on its colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...report.html.plot import Mark, steps
from ...util.at_first_use import dataclass

__all__ = ["Strip", "StripLine", "Trace", "strip"]

_WIDTH, _HEIGHT = 610, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 112, 20, 28
_LINE = 14          # pixels between two names
_APART = 52         # and between two words on the axis
#: The classes of measured.css, each with a dash of its own.
_INKS = ("own", "nccl", "nccl-staged")
_EVERY = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)


@dataclass(frozen=True)
class Trace:
    """``points``: seconds and value, None where nothing was told."""

    name: str
    points: tuple[tuple[float, float | None], ...]


@dataclass(frozen=True)
class StripLine:
    ink: str
    name: str
    path: str
    label: Mark


@dataclass(frozen=True)
class Strip:
    """``crosses``: vertical lines with their words, left to right."""

    id: str
    title: str
    unit: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    below: tuple[Mark, ...]
    beside: tuple[Mark, ...]
    lines: tuple[StripLine, ...]
    crosses: tuple[Mark, ...]


def strip(name: str, title: str, unit: str, traces: Sequence[Trace], span: tuple[float, float],
          crosses: Sequence[tuple[float, str]], most: float | None = None) -> Strip | None:
    """None where nothing was told. ``span``: first and last second; ``most``: upper end of the axis."""
    told = [each for each in traces if any(value is not None for _, value in each.points)][:len(_INKS)]
    values = [value for each in told for _, value in each.points if value is not None]
    if not values or span[1] <= span[0]:
        return None
    ticks = steps(most if most is not None else max(values))
    if most is not None:
        ticks = [each for each in ticks if each <= most]
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(second: float) -> float:
        return round(_LEFT + width * (second - span[0]) / (span[1] - span[0]), 1)

    def up(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - height * min(value / ticks[-1], 1.0), 1)

    lines = []
    for ink, each in zip(_INKS, told, strict=False):
        last = next(value for _, value in reversed(each.points) if value is not None)
        lines.append(StripLine(ink, each.name, _path([(across(at), None if value is None else up(value))
                                                      for at, value in each.points]),
                               Mark(_WIDTH - _RIGHT + 8, up(last) + 4, each.name)))
    return Strip(name, title, unit, _WIDTH, _HEIGHT, _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM,
                 tuple(_below(span, across)), tuple(Mark(_LEFT, up(value), f"{value:g}") for value in ticks),
                 tuple(_apart(lines)), tuple(Mark(across(at), _TOP, text) for at, text in sorted(crosses)
                                             if span[0] <= at <= span[1]))


def _path(points: Sequence[tuple[float, float | None]]) -> str:
    """A point between two gaps is a dash of its own."""
    parts, pen = [], False
    for x, y in points:
        if y is None:
            pen = False
            continue
        parts.append(f"L{x} {y}" if pen else f"M{x} {y}h1")
        pen = True
    return "".join(parts)


def _below(span: tuple[float, float], across: object) -> list[Mark]:
    assert callable(across)
    pixels = (_WIDTH - _LEFT - _RIGHT) / (span[1] - span[0])
    every = next((each for each in _EVERY if each * pixels >= _APART), _EVERY[-1])
    first = math.ceil(span[0] / every)
    return [Mark(across(number * every), _HEIGHT - _BOTTOM, _words(number * every))
            for number in range(first, math.floor(span[1] / every) + 1)]


def _words(second: float) -> str:
    if second == 0:
        return "0"
    sign = "\u2212" if second < 0 else "+"
    size = abs(second)
    return f"{sign}{size / 60:g} min" if size % 60 == 0 else f"{sign}{size:g} s"


def _apart(lines: Sequence[StripLine]) -> list[StripLine]:
    """Names that do not lie over each other."""
    order = sorted(range(len(lines)), key=lambda index: lines[index].label.y)
    places = [max(lines[index].label.y, _TOP + 10.0) for index in order]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + _LINE)
    limit = _HEIGHT - _BOTTOM + 4.0
    for index in reversed(range(len(places))):
        places[index] = min(places[index], limit)
        limit = places[index] - _LINE
    found = dict(zip(order, places, strict=True))
    return [StripLine(each.ink, each.name, each.path, Mark(each.label.x, round(found[index], 1), each.name))
            for index, each in enumerate(lines)]
