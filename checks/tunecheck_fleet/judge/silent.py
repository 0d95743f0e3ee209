"""What silent hosts had when they were last heard, where it differed from most of their like: who says nothing any more
has not mended anything.

A value counts only where most had theirs already then: that the others moved since is no difference that was seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ..model import AuditHead
from ..store.rows import CensusRow, Outlier
from ..store.spans import covered
from .options import JudgeOptions
from .view import Host, Meta, canon
from .view_parts import meta_of

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["with_silent"]

#: Group, hardware.
_Cohort = tuple[str, str]


def with_silent(store: Store, hosts: Iterable[Host], census: list[CensusRow], outliers: list[Outlier],
                audit: AuditHead, options: JudgeOptions) -> tuple[list[CensusRow], list[Outlier]]:
    """The census and the outliers, with the silent hosts in those facts in which one of them differed."""
    silent: dict[_Cohort, list[Host]] = defaultdict(list)
    answered: dict[_Cohort, list[Host]] = defaultdict(list)
    for host in hosts:
        if host.answered:
            answered[host.group, host.cohort].append(host)
        elif host.last_ok is not None:
            silent[host.group, host.cohort].append(host)
    if not silent:
        return census, outliers
    counted: dict[tuple[_Cohort, str], list[CensusRow]] = defaultdict(list)
    for row in census:
        if (row.group, row.hardware) in silent:
            counted[(row.group, row.hardware), row.fact].append(row)
    told = {host.host: _Told(store, host, audit) for those in silent.values() for host in those}
    for cohort, those in silent.items():
        for host in those:      # what only silent hosts have is counted nowhere
            for fact in told[host.host].values:
                counted.setdefault((cohort, fact), [])
    meta = meta_of({fact for _, fact in counted}, options.entries)
    more, found = [], []
    for (cohort, fact), rows in counted.items():
        values = [(host, told[host.host].values.get(fact)) for host in silent[cohort] if told[host.host].knows(fact)]
        if values and meta.get(fact, Meta()).kind == "config":
            without = 0 if rows else sum(not covered(fact, host.unknown) for host in answered[cohort])
            voted = [*rows, *[CensusRow(*cohort, fact, None, without)] * bool(without),
                     *(CensusRow(*cohort, fact, value, 1) for _, value in values)]
            apart = _apart(store, cohort, voted, values, audit, options)
            more += voted[len(rows):] if apart else []
            found += apart
    held = store.held({each.fact for each in found}, audit.id) if found else {}
    return [*census, *more], [*outliers, *(
        each._replace(since=held[each.host][each.fact][1]) if each.fact in held.get(each.host, {}) else each
        for each in found)]


def _apart(store: Store, cohort: _Cohort, voted: list[CensusRow], values: list[tuple[Host, Any]], audit: AuditHead,
           options: JudgeOptions) -> list[Outlier]:
    """The silent hosts that differed from most of their like, of which most were so already then."""
    counts: Counter[str] = Counter()
    for row in voted:
        counts[canon(row.value)] += row.count
    total, top = counts.total(), min(counts, key=lambda text: (-counts[text], text))
    least = options.share * total
    if total < options.at_least or counts[top] < least:
        return []
    found = []
    for host, value in values:
        if canon(value) != top:
            moved = {row.host for row in store.changes(host.last_ok, audit.id, {voted[0].fact})
                     if row.group == cohort[0] and canon(row.value) == top}
            if counts[top] - len(moved) >= least:
                most = next(row.value for row in voted if canon(row.value) == top)
                found.append(Outlier(host.host, *cohort, voted[0].fact, value, most, counts[top], total, None))
    return found


class _Told:
    """What a silent host told when it was last heard."""

    def __init__(self, store: Store, host: Host, audit: AuditHead) -> None:
        self.values = store.at(host.host, audit.id)
        state = next(iter(store.hosts(host.last_ok, only={host.host})), None)
        self._unknown: Collection[str] | None = state.unknown if state is not None else None

    def knows(self, fact: str) -> bool:
        """Whether it told the fact, or that there is none."""
        return fact in self.values or (self._unknown is not None and not covered(fact, self._unknown))
