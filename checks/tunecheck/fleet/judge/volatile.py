"""Facts that are kept as config and never rest: a wrong class makes every audit a list of everybody."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .view import Move, View, canon

__all__ = ["Restless", "restless"]

#: A fact is restless in an audit where it changed on so many of the hosts,
PART = 0.05
#: and looks volatile when it was so in this part of the looked-at audits: a rollout is restless once or twice.
OFTEN = 0.5
#: Of fewer audits nothing can be said.
LEAST_AUDITS = 3
#: A date, a time of day, a random id.
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}:\d{2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Restless:
    """``share`` of the hosts changed it per audit, in ``audits`` of ``of`` audits; ``proposed``: the class to give."""

    fact: str
    share: float
    audits: int
    of: int
    proposed: str

    @property
    def note(self) -> str:
        return (f"{self.fact} looks volatile: changed on {self.share:.0%} of hosts per audit, in {self.audits} of the "
                f"last {self.of}; it is left out of drift; proposed class: {self.proposed}")


def restless(view: View) -> list[Restless]:
    """Facts of class config that look volatile, by name."""
    looked = len(view.recent_audits)
    hosts = sum(host.last_ok is not None or host.answered for host in view.hosts)
    if looked < LEAST_AUDITS or not hosts:
        return []
    by_fact: dict[str, list[Move]] = defaultdict(list)
    for move in view.recent:
        if view.of(move.fact).kind == "config":
            by_fact[move.fact].append(move)
    found = []
    for fact, moves in sorted(by_fact.items()):
        audits = Counter(move.since.seen for move in moves)
        # Two hosts of three that alternate are no class of fact, they flap.
        busy = sum(count >= max(3, math.ceil(PART * hosts)) for count in audits.values())
        if busy >= max(LEAST_AUDITS, math.ceil(OFTEN * looked)):
            found.append(Restless(fact, len(moves) / looked / hosts, busy, looked, proposed(moves)))
    return found


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
