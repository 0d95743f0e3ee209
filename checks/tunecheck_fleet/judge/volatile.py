"""Facts that are kept as config and never rest: a wrong class makes every audit a list of everybody."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Note
from .view import View, canon
from .view_rows import Move

__all__ = ["VolatileFact", "volatile_facts"]

#: A date, a time of day, a random id.
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}:\d{2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
                   r"^\"[0-9a-f]{32,}\"$")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class VolatileFact:
    """``rate``: changes per host and audit; ``proposed``: the class to give. ``left_out``: of drift, which nothing but
    the registry and long evidence may do; ``hidden``: hosts on which it changed since the previous audit."""

    fact: str
    rate: float
    proposed: str
    left_out: bool = False
    hidden: int = 0

    @property
    def note(self) -> Note:
        what = (f"it is left out of drift, {self.hidden} change{'s' * (self.hidden != 1)} since the previous audit"
                if self.left_out else "it counts as drift all the same")
        return Note(f"{self.fact} looks volatile: {self.rate:.2f} changes per host and audit; {what}; proposed class: "
                    f"{self.proposed}", self.fact, hides=self.left_out)


def volatile_facts(view: View, changed: Mapping[str, Mapping[str, Move]]) -> list[VolatileFact]:
    """Facts of class config that look volatile to the store, by name. ``changed``: host -> fact -> how."""
    moves: dict[str, list[Move]] = defaultdict(list)
    for move in view.recent:
        moves[move.fact].append(move)
    hidden = Counter(fact for facts in changed.values() for fact in facts)
    return [VolatileFact(row.fact, row.change_rate, proposed(moves[row.fact]), row.sure, hidden[row.fact])
            for row in sorted(view.volatile, key=lambda row: row.fact)
            if row.suspicious and view.of(row.fact).kind == "config"]


def proposed(moves: Iterable[Move]) -> str:
    """counter where numbers only grow, gauge where they go both ways, time for stamps and random ids, else gauge."""
    pairs = [(_number(move.before), _number(move.value)) for move in moves if None not in (move.before, move.value)]
    if pairs and all(before is not None and after is not None for before, after in pairs):
        ups = sum(after > before for before, after in pairs if before is not None and after is not None)
        # A reboot starts a counter again.
        return "counter" if ups >= 0.95 * len(pairs) else "gauge"
    texts = [canon(move.value) for move in moves]
    return "time" if texts and sum(bool(_TIME.search(text[:200])) for text in texts) >= 0.9 * len(texts) else "gauge"


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 1e300 else None
    return float(value) if isinstance(value, str) and len(value) < 40 and _NUMBER.fullmatch(value) else None
