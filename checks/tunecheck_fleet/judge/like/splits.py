"""Facts on which a group does not agree: there is no verdict, and the report says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from ...fleet_report import Split
from ..moves import Net
from ..options import SPLIT, JudgeOptions
from ..view import View, canon
from ..votes import Key, Vote

__all__ = ["splits"]

#: Of a split the most frequent values are shown.
_SHARES = 8


def splits(view: View, moves: Net, vote_of: Mapping[Key, Vote], not_groups: Collection[tuple[str, str]],
           not_facts: Collection[str], options: JudgeOptions, about: str | None = None) -> tuple[Split, ...]:
    """Facts on which a group has no majority, but a half. ``not_groups``: (group, fact) with a desired value;
    ``about``: those of the hosts that this one is compared with."""
    like = {(host.group, host.cohort) for host in view.hosts if about is None or (host.host == about and host.told)}
    rows = []
    several = Counter((group, fact) for group, _, fact in vote_of)
    holders: dict[tuple[Key, str], list[str]] = {}
    for outlier in view.outliers:
        key = (outlier.group, outlier.hardware, outlier.fact), canon(outlier.value)
        holders.setdefault(key, []).append(outlier.host)
    for (group, hardware, fact), vote in vote_of.items():
        if (group, hardware) not in like or not SPLIT <= vote.share < options.share \
                or (group, fact) in not_groups or fact in not_facts:
            continue
        shares = vote.shares[:_SHARES]
        notes = [hardware] if several[group, fact] > 1 and hardware else []
        steps = [facts[fact] for facts in moves.moves.values() if fact in facts and facts[fact].group == group]
        moved = Counter(canon(move.value) for move in steps)
        if moved:
            value, count = min(moved.items(), key=lambda item: (-item[1], item[0]))
            first, last = min(move.since.seen for move in steps), max(move.since.seen for move in steps)
            here = f" in #{last}" if first == last else f" in #{first}..#{last}"
            # As the values of the split are shown.
            to = "(absent)" if value == "null" else value[:80]
            notes.append(f"looks like a rollout: {count} changed to {to}{here}" if count > 2 else
                         f"{sum(moved.values())} changed{here}")
        if len(vote.shares) > len(shares):
            notes.append(f"{len(vote.shares) - len(shares)} more values")
        names = [tuple(holders.get(((group, hardware, fact), canon(value)), ())) for value, _ in shares]
        rows.append(Split(group, fact, shares, "; ".join(notes), tuple(names)))
    return tuple(sorted(rows, key=lambda split: (split.group, split.fact, split.note)))
