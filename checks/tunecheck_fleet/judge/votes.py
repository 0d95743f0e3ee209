"""How the hosts of one group and hardware vote on a fact: what most of them have, now and at the previous audit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from tunecheck.util.at_first_use import dataclass

from .moves import Net
from .options import JudgeOptions
from .view import View, canon

__all__ = ["Key", "Vote", "votes"]

#: Group, hardware, fact.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Vote:
    """What ``count`` of ``total`` hosts of a group and hardware have; ``before`` is canonical JSON of what most had at
    the previous audit, None where no value had the share."""

    group: str
    value: Any
    count: int
    total: int
    before: str | None
    shares: tuple[tuple[Any, int], ...]

    @property
    def share(self) -> float:
        return self.count / self.total

    @property
    def moved(self) -> bool:
        return self.before is not None and self.before != canon(self.value)


def votes(view: View, moves: Net, options: JudgeOptions, few: Collection[str] | None = None) -> dict[Key, Vote]:
    """(group, hardware, fact) -> the vote, for every config fact that enough hosts have; ``few``: of these facts alone,
    however few have them."""
    now: dict[Key, Counter[str]] = defaultdict(Counter)
    values: dict[str, Any] = {}
    for tally in view.tallies:
        if (few is None or tally.fact in few) and view.of(tally.fact).kind == "config":
            text = canon(tally.value)
            values[text] = tally.value
            now[tally.group, tally.hardware, tally.fact][text] += tally.hosts
    hardware = {host.host: host.cohort for host in view.hosts}
    earlier: dict[Key, Counter[str]] = {}
    for host, facts in moves.moves.items():
        for fact, move in facts.items():
            key = (move.group, hardware.get(host, ""), fact)
            if key in now:
                past = earlier.setdefault(key, Counter(now[key]))
                past[canon(move.value)] -= 1
                past[canon(move.before)] += 1
    found = {}
    for key, counts in sorted(now.items()):
        total = sum(counts.values())
        if total < options.at_least and few is None:
            continue
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        found[key] = Vote(key[0], values[ranked[0][0]], ranked[0][1], total,
                          _top(earlier.get(key, counts), options.share),
                          tuple((values[text], count) for text, count in ranked if count > 0))
    return found


def _top(counts: Mapping[str, int], share: float) -> str | None:
    text = min(counts, key=lambda text: (-counts[text], text))
    return text if counts[text] >= share * sum(counts.values()) else None
