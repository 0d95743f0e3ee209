"""Lines of a benchmark that holds two sides against each other: figures, ratio, goal, reached or MISSED."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Line", "at_least", "at_most", "shown", "within"]


@dataclass(frozen=True)
class Line:
    """``good`` is None where there is no goal, or nothing to hold the figure against."""

    part: str
    what: str
    ours: float | None = None
    theirs: float | None = None
    unit: str = ""
    goal: str = ""
    good: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.ours is not None and self.theirs else None

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "ratio": self.ratio}


def within(part: str, what: str, ours: float, theirs: float | None, unit: str, goal: float | None,
           note: str = "") -> Line:
    """Both sides have to agree to the share ``goal``; None: shown without a goal."""
    if goal is None:
        return Line(part, what, ours, theirs, unit, note=note)
    good = None if not theirs else abs(ours / theirs - 1) <= goal
    return Line(part, what, ours, theirs, unit, f"within {100 * goal:g} %", good, note)


def at_most(part: str, what: str, ours: float, unit: str, goal: float | None, theirs: float | None = None,
            ratio: bool = False, note: str = "") -> Line:
    """Ours may be ``goal`` at most; with ``ratio`` that share of theirs. None: shown without a goal."""
    if goal is None:
        return Line(part, what, ours, theirs, unit, note=note)
    judged = (ours / theirs if theirs else None) if ratio else ours
    return Line(part, what, ours, theirs, unit, f"at most {goal:g}{' x theirs' if ratio else f' {unit}'.rstrip()}",
                None if judged is None else judged <= goal, note)


def at_least(part: str, what: str, ours: float, unit: str, goal: float | None, theirs: float | None = None,
             note: str = "") -> Line:
    """Ours has to reach ``goal``. None: shown without a goal."""
    if goal is None:
        return Line(part, what, ours, theirs, unit, note=note)
    return Line(part, what, ours, theirs, unit, f"at least {goal:g} {unit}".rstrip(), ours >= goal, note)


def shown(line: Line) -> str:
    """One line of text: part, what, ours, theirs, unit, ratio, goal, verdict, note."""
    verdict = {True: "reached", False: "MISSED", None: "" if not line.goal else "not judged"}[line.good]
    ratio = "" if line.ratio is None else f"{line.ratio:.4f}"
    figures = f"{_figure(line.ours):>9} {_figure(line.theirs):>9} {line.unit:<5} {ratio:>7}"
    parts = [f"{line.part}  {line.what:<58} {figures}", f"{line.goal:<22} {verdict}".rstrip(), line.note]
    return "  ".join(part for part in parts if part.strip()).rstrip()


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.5g}"
