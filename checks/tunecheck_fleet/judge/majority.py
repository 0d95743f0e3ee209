"""Against the fleet: what most hosts of one group and hardware have. It may be wrong, so it is only ever "differs"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from ..fleet_report import Split
from .moves import Net
from .options import SPLIT, JudgeOptions
from .rows import Row
from .significance import not_significant, usual
from .view import View, canon
from .votes import Key, Vote

__all__ = ["majority", "splits"]

#: Of a split the most frequent values are shown.
_SHARES = 8

def majority(view: View, moves: Net, vote_of: Mapping[Key, Vote], rolled: Collection[tuple[str, str, str]],
             not_of: Collection[tuple[str, str]], not_facts: Collection[str],
             options: JudgeOptions) -> tuple[list[Row], set[tuple[str, str]]]:
    """The rows, and which (host, fact) they have judged. ``not_of``: (host, fact) with a desired value; ``not_facts``:
    volatile facts."""
    rows, settled = [], set()
    elsewhere = usual(vote_of, options.share)
    hosts = {host.host: host for host in view.hosts if host.unknown}
    for outlier in view.outliers:
        vote = vote_of.get((outlier.group, outlier.hardware, outlier.fact))
        if vote is None or vote.share < options.share or (outlier.host, outlier.fact) in not_of \
                or outlier.fact in not_facts or canon(outlier.value) == canon(vote.value) \
                or not_significant(vote, outlier.value, elsewhere.get(outlier.fact, {})):
            continue
        move = moves.moves.get(outlier.host, {}).get(outlier.fact)
        meta = view.of(outlier.fact)
        since = move.since if move else outlier.since
        fresh = move is not None or vote.moved or (view.previous is None and outlier.host not in view.before) or (
            since is not None and not view.had(outlier.host, since))
        rows.append(Row(
            "majority", meta.severity, outlier.fact, outlier.group, outlier.host,
            expected=f"differs from {vote.count} of {vote.total} in {outlier.group}", fix=meta.fix, value=outlier.value,
            before=move.before if move else vote.value, since=since, state="new" if fresh else "known",
            text=f"the others moved since #{view.previous.id}, this did not"
            if vote.moved and not move and view.previous is not None else "",
            same=canon(outlier.value),
            unread=hosts[outlier.host].unread(outlier.fact) if outlier.host in hosts else "",
            rollout=move is not None and (outlier.group, outlier.fact, canon(outlier.value)) in rolled))
        if not (move is not None and view.returned(outlier.host, outlier.fact)
                and (outlier.host, outlier.fact) in view.baselines):    # what it had in between is over
            settled.add((outlier.host, outlier.fact))
    back, done = _back(view, moves, vote_of, not_of, not_facts, rolled, options)
    return rows + back, settled | done


def _back(view: View, moves: Net, vote_of: Mapping[Key, Vote], not_of: Collection[tuple[str, str]],
          not_facts: Collection[str], rolled: Collection[tuple[str, str, str]],
          options: JudgeOptions) -> tuple[list[Row], set[tuple[str, str]]]:
    """Hosts that differed at the previous audit and do not any more."""
    rows, settled = [], set()
    hardware = {host.host: host.cohort for host in view.hosts}
    for host, facts in sorted(moves.moves.items()):
        for fact, move in sorted(facts.items()):
            vote = vote_of.get((move.group, hardware.get(host, ""), fact))
            if vote is None or vote.share < options.share or vote.moved or vote.before is None \
                    or canon(move.value) != vote.before or (host, fact) in not_of or fact in not_facts \
                    or (move.group, fact, canon(move.value)) in rolled \
                    or (view.left(host, fact, move.value) and not move.ours):   # approved is another one
                continue
            meta = view.of(fact)
            rows.append(Row(
                "majority", meta.severity, fact, move.group, host, expected=f"again as {vote.count} of {vote.total} in "
                f"{move.group}", fix=meta.fix, value=move.before, before=vote.value, since=move.held,
                state="resolved", ended=move.since, same=canon(move.before)))
            settled.add((host, fact))
    return rows, settled


def splits(view: View, moves: Net, vote_of: Mapping[Key, Vote], not_groups: Collection[tuple[str, str]],
           not_facts: Collection[str], options: JudgeOptions) -> tuple[Split, ...]:
    """Facts on which a group has no majority, but a half. ``not_groups``: (group, fact) with a desired value."""
    rows = []
    several = Counter((group, fact) for group, _, fact in vote_of)
    holders: dict[tuple[Key, str], list[str]] = {}
    for outlier in view.outliers:
        key = (outlier.group, outlier.hardware, outlier.fact), canon(outlier.value)
        holders.setdefault(key, []).append(outlier.host)
    for (group, hardware, fact), vote in vote_of.items():
        if not SPLIT <= vote.share < options.share or (group, fact) in not_groups or fact in not_facts:
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
