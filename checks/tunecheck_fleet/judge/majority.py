"""Against the fleet: what most hosts of one group and hardware have. It may be wrong, so it is only ever "differs"."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..verdict import Split
from .moves import Net
from .options import SPLIT, JudgeOptions
from .rows import Row
from .significance import by_chance, usual
from .view import View, canon

__all__ = ["Vote", "majority", "splits", "votes"]

#: Of a split the most frequent values are shown.
_SHARES = 8

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


def votes(view: View, moves: Net, options: JudgeOptions) -> dict[Key, Vote]:
    """(group, hardware, fact) -> the vote, for every config fact that enough hosts have."""
    now: dict[Key, Counter[str]] = defaultdict(Counter)
    values: dict[str, Any] = {}
    for tally in view.tallies:
        if view.of(tally.fact).kind == "config":
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
        if total < options.at_least:
            continue
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        found[key] = Vote(key[0], values[ranked[0][0]], ranked[0][1], total,
                          _top(earlier.get(key, counts), options.share),
                          tuple((values[text], count) for text, count in ranked if count > 0))
    return found


def _top(counts: Mapping[str, int], share: float) -> str | None:
    text = min(counts, key=lambda text: (-counts[text], text))
    return text if counts[text] >= share * sum(counts.values()) else None


def majority(view: View, moves: Net, found: Mapping[Key, Vote], rolled: Collection[tuple[str, str, str]],
             not_of: Collection[tuple[str, str]], not_facts: Collection[str],
             options: JudgeOptions) -> tuple[list[Row], set[tuple[str, str]]]:
    """The rows, and which (host, fact) they have judged. ``not_of``: (host, fact) with a desired value; ``not_facts``:
    facts that never rest."""
    rows, settled = [], set()
    elsewhere = usual(found, options.share)
    for odd in view.odd:
        vote = found.get((odd.group, odd.hardware, odd.fact))
        if vote is None or vote.share < options.share or (odd.host, odd.fact) in not_of or odd.fact in not_facts \
                or canon(odd.value) == canon(vote.value) or by_chance(vote, odd.value, elsewhere.get(odd.fact, {})):
            continue
        move = moves.moves.get(odd.host, {}).get(odd.fact)
        meta = view.of(odd.fact)
        since = move.since if move else odd.since
        fresh = move is not None or vote.moved or view.previous is None or (
            since is not None and not view.had(odd.host, since))
        rows.append(Row(
            "majority", meta.severity, odd.fact, odd.group, odd.host,
            expected=f"differs from {vote.count} of {vote.total} in {odd.group}", fix=meta.fix, value=odd.value,
            before=move.before if move else vote.value, since=since, state="new" if fresh else "known",
            text="the others moved since the previous audit, this did not" if vote.moved and not move else "",
            same=f"{odd.hardware}\0{canon(odd.value)}",
            rollout=move is not None and (odd.group, odd.fact, canon(odd.value)) in rolled))
        settled.add((odd.host, odd.fact))
    back, done = _back(view, moves, found, not_of, not_facts, rolled, options)
    return rows + back, settled | done


def _back(view: View, moves: Net, found: Mapping[Key, Vote], not_of: Collection[tuple[str, str]],
          not_facts: Collection[str], rolled: Collection[tuple[str, str, str]],
          options: JudgeOptions) -> tuple[list[Row], set[tuple[str, str]]]:
    """Hosts that differed at the previous audit and do not any more."""
    rows, settled = [], set()
    hardware = {host.host: host.cohort for host in view.hosts}
    for host, facts in sorted(moves.moves.items()):
        for fact, move in sorted(facts.items()):
            vote = found.get((move.group, hardware.get(host, ""), fact))
            if vote is None or vote.share < options.share or vote.moved or vote.before is None \
                    or canon(move.value) != vote.before or (host, fact) in not_of or fact in not_facts \
                    or (move.group, fact, canon(move.value)) in rolled:
                continue
            meta = view.of(fact)
            rows.append(Row(
                "majority", meta.severity, fact, move.group, host, expected=f"again as {vote.count} of {vote.total} in "
                f"{move.group}", fix=meta.fix, value=move.before, before=vote.value, since=move.since,
                state="resolved", same=f"{hardware.get(host, '')}\0{canon(move.before)}"))
            settled.add((host, fact))
    return rows, settled


def splits(view: View, moves: Net, found: Mapping[Key, Vote], not_groups: Collection[tuple[str, str]],
           not_facts: Collection[str], options: JudgeOptions) -> tuple[Split, ...]:
    """Facts on which a group has no majority, but a half. ``not_groups``: (group, fact) with a desired value."""
    rows = []
    several = Counter((group, fact) for group, _, fact in found)
    holders: dict[tuple[Key, str], list[str]] = {}
    for odd in view.odd:
        holders.setdefault(((odd.group, odd.hardware, odd.fact), canon(odd.value)), []).append(odd.host)
    for (group, hardware, fact), vote in found.items():
        if not SPLIT <= vote.share < options.share or (group, fact) in not_groups or fact in not_facts:
            continue
        shares = vote.shares[:_SHARES]
        notes = [hardware] if several[group, fact] > 1 and hardware else []
        moved = Counter(canon(move.value) for facts in moves.moves.values() for name, move in facts.items()
                        if name == fact and move.group == group)
        if moved:
            value, count = min(moved.items(), key=lambda item: (-item[1], item[0]))
            here = f" in #{view.audit.id}"
            notes.append(f"looks like a rollout: {count} changed to {value[:80]}{here}" if count > 2 else
                         f"{sum(moved.values())} changed{here}")
        if len(vote.shares) > len(shares):
            notes.append(f"{len(vote.shares) - len(shares)} more values")
        names = [tuple(holders.get(((group, hardware, fact), canon(value)), ())) for value, _ in shares]
        rows.append(Split(group, fact, shares, "; ".join(notes), tuple(names)))
    return tuple(sorted(rows, key=lambda split: (split.group, split.fact, split.note)))
