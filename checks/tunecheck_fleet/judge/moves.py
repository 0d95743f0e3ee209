"""What changed between two audits, as one move per host and fact; and which of the moves are rollouts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Since
from .view import View, canon
from .view_rows import Move

__all__ = ["LEAST", "Net", "net", "rollouts"]

#: Two hosts of a group of eight are more than 10 % of it, and no rollout.
LEAST = 3


@dataclass(frozen=True)
class Net:
    """``moves``: host -> fact -> the way from its first value to its last. ``back``: (host, fact) that are what they
    were, after having been something else -> the last step, from that back."""

    moves: dict[str, dict[str, Move]]
    back: dict[tuple[str, str], Move]


def net(moves: Iterable[Move]) -> Net:
    steps: dict[tuple[str, str], list[Move]] = defaultdict(list)
    for move in moves:
        steps[move.host, move.fact].append(move)
    found: dict[str, dict[str, Move]] = defaultdict(dict)
    back: dict[tuple[str, str], Move] = {}
    for (host, fact), taken in sorted(steps.items()):
        taken.sort(key=lambda move: move.since.seen)
        first, last = taken[0], taken[-1]
        if canon(first.before) == canon(last.value):
            back[host, fact] = last
        else:
            since = last.since if len(taken) == 1 else Since(last.since.seen, last.since.seen_at,
                                                             first.since.after, first.since.after_at)
            found[host][fact] = replace(last, before=first.before, since=since, ours=all(move.ours for move in taken),
                                          held=first.held, first=first.since.seen if len(taken) > 1 else 0)
    return Net(dict(found), back)


def rollouts(view: View, moves: Net, part: float) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(group, fact, value) to which a part of the group moved in one audit -> (that audit, how many)."""
    sizes = Counter(host.group for host in view.hosts)
    counts: Counter[tuple[str, str, str, int]] = Counter(
        (move.group, move.fact, canon(move.value), move.since.seen)
        for facts in moves.moves.values() for move in facts.values() if view.of(move.fact).kind == "config")
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for (group, fact, value, audit), count in sorted(counts.items()):
        if count >= max(LEAST, math.ceil(part * sizes[group])) and count > found.get((group, fact, value), (0, 0))[1]:
            found[group, fact, value] = (audit, count)
    return found
