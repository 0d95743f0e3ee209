"""The fleet as a whole: who holds what, who holds something else than most, and what never holds still."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, false, func, select

from . import audits
from .history import ANSWERED, SNAP_END, during, since, times
from .peers import peers
from .rows import CensusRow, Flap, Outlier
from .schema import host, snap, span
from .spans import covered

if TYPE_CHECKING:
    from .store import Store

__all__ = ["census", "classes", "flaps", "outliers"]

#: No value: the host does not have the fact.
ABSENT = 0

Cohort = tuple[str, str]


@dataclass
class Tally:
    """One cohort's one fact. ``counts``: value -> hosts; ``deviants``: (host, value, from, after) of every host."""

    counts: Counter[int]
    holders: list[tuple[int, int, int, int | None]]
    unknown: int = 0


@dataclass
class Fleet:
    """As of one audit: every host that answered it, its cohort, and what it does not know."""

    members: dict[int, tuple[str, Cohort]]
    sizes: Counter[Cohort]
    unknown: dict[int, tuple[str, ...]]
    tallies: dict[tuple[Cohort, int], Tally]
    names: dict[int, str]
    values: dict[int | None, Any]


@contextmanager
def _uncollected() -> Iterator[None]:
    """A hundred thousand rows live at once and none of them in a cycle: Python's collector would walk over them again
    and again, for half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _members(store: Store, connection: Connection,
             number: int) -> tuple[dict[int, tuple[str, Cohort]], dict[int, tuple[str, ...]]]:
    """Every host that answered, with its name and its cohort; and what those that answered in part do not know."""
    rows = connection.execute(
        select(host.c.id, host.c.name, snap.c.about_id).join(snap, snap.c.host_id == host.c.id)
        .where(snap.c.from_audit <= number, number <= SNAP_END, snap.c.status.in_(ANSWERED))).all()
    abouts = store.interned.decoded(connection, {row.about_id for row in rows})
    came: dict[int, int] = {}
    if len({abouts[about]["hardware"] for _, _, about in rows}) > 1:
        first = select(snap.c.host_id, func.min(snap.c.from_audit).label("begun")).where(
            snap.c.status.in_(ANSWERED)).group_by(snap.c.host_id).subquery()
        came = dict(iter(connection.execute(select(snap.c.host_id, snap.c.about_id).join(
            first, (first.c.host_id == snap.c.host_id) & (first.c.begun == snap.c.from_audit)))))
    then = store.interned.decoded(connection, set(came.values()))
    classes = peers({host_id: (abouts[about]["group"], abouts[about]["hardware"],
                               then[came[host_id]]["hardware"] if host_id in came else abouts[about]["hardware"])
                     for host_id, _, about in rows})
    members = {host_id: (name, (abouts[about]["group"], classes[host_id])) for host_id, name, about in rows}
    unknown = {host_id: tuple(abouts[about]["unknown"]) for host_id, _, about in rows if abouts[about]["unknown"]}
    return members, unknown


def classes(store: Store, audit_id: int | None) -> dict[str, str]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        return {name: hardware for name, (_, hardware) in _members(store, connection, number)[0].values()}


def _fleet(store: Store, connection: Connection, number: int) -> Fleet:
    members, unknown = _members(store, connection, number)
    names = store.interned.facts(connection)
    newest = connection.execute(select(func.max(span.c.from_audit))).scalar() or 0
    when = span.c.until_audit.is_(None) if number >= newest else during(number)
    by_cohort: dict[Cohort, dict[int, Tally]] = {cohort: {} for _, cohort in members.values()}
    of_host = {host_id: by_cohort[cohort] for host_id, (_, cohort) in members.items()}
    for part in connection.execute(select(span.c.host_id, span.c.fact_id, span.c.value_id, span.c.from_audit,
                                          span.c.after_audit).where(when)).partitions(20_000):
        for host_id, fact_id, value_id, begun, after in part:
            facts = of_host.get(host_id)
            if facts is None or (host_id in unknown and covered(names[fact_id], unknown[host_id])):
                continue
            if (tally := facts.get(fact_id)) is None:
                tally = facts[fact_id] = Tally(Counter(), [])
            tally.holders.append((host_id, value_id, begun, after))
    tallies = {(cohort, fact_id): tally for cohort, facts in by_cohort.items() for fact_id, tally in facts.items()}
    for tally in tallies.values():
        tally.counts.update([holder[1] for holder in tally.holders])
    values = store.interned.decoded(connection, {value for tally in tallies.values() for value in tally.counts})
    fleet = Fleet(members, Counter(cohort for _, cohort in members.values()), unknown, tallies, names, values)
    _absences(fleet)
    return fleet


def _absences(fleet: Fleet) -> None:
    """A fact that some of a cohort have and others never told: those that could have told it do not have it."""
    partial: dict[Cohort, list[int]] = defaultdict(list)
    for host_id in fleet.unknown:
        partial[fleet.members[host_id][1]].append(host_id)
    null = next((number for number, value in fleet.values.items() if number is not None and value is None), ABSENT)
    for (cohort, fact_id), tally in fleet.tallies.items():
        for number in [number for number in tally.counts if fleet.values[number] is None]:
            tally.counts[ABSENT] += tally.counts.pop(number)
        name = fleet.names[fact_id]
        tally.unknown = sum(covered(name, fleet.unknown[host_id]) for host_id in partial.get(cohort, ()))
        missing = fleet.sizes[cohort] - len(tally.holders) - tally.unknown
        if missing:
            tally.counts[ABSENT] += missing
        tally.holders = [(host_id, ABSENT if value == null else value, begun, after)
                         for host_id, value, begun, after in tally.holders] if null != ABSENT else tally.holders
    fleet.values[ABSENT] = None


def census(store: Store, audit_id: int | None) -> list[CensusRow]:
    number = audits.head(store, audit_id).id
    with _uncollected(), store.db.read() as connection:
        fleet = _fleet(store, connection, number)
    found = [CensusRow(*cohort, fleet.names[fact_id], fleet.values[value], count)
             for (cohort, fact_id), tally in fleet.tallies.items() for value, count in tally.counts.items()]
    found.sort(key=lambda row: (row.group, row.hardware, row.fact, -row.count))
    return found


def outliers(store: Store, share: float, at_least: int, audit_id: int | None) -> list[Outlier]:
    number = audits.head(store, audit_id).id
    with _uncollected(), store.db.read() as connection:
        fleet = _fleet(store, connection, number)
        when = times(store, connection)
    cohorts: dict[Cohort, set[int]] = defaultdict(set)
    for host_id, (_, cohort) in fleet.members.items():
        cohorts[cohort].add(host_id)
    found = []
    for (cohort, fact_id), tally in fleet.tallies.items():
        total = fleet.sizes[cohort] - tally.unknown
        majority, count = tally.counts.most_common(1)[0]
        if total < at_least or count == total or count < share * total:
            continue
        for host_id, value, begun, after in _others(fleet, cohort, fact_id, tally, majority, cohorts[cohort]):
            found.append(Outlier(
                fleet.members[host_id][0], *cohort, fleet.names[fact_id], fleet.values[value], fleet.values[majority],
                count, total, None if begun is None else since(when, begun, after)))
    found.sort(key=lambda row: (row.group, row.hardware, row.fact, row.host))
    return found


def _others(fleet: Fleet, cohort: Cohort, fact_id: int, tally: Tally, majority: int,
            members: set[int]) -> Iterator[tuple[int, int, int | None, int | None]]:
    yield from (holder for holder in tally.holders if holder[1] != majority)
    if majority == ABSENT or len(tally.holders) + tally.unknown == len(members):
        return
    for host_id in members - {holder[0] for holder in tally.holders}:
        if not (host_id in fleet.unknown and covered(fleet.names[fact_id], fleet.unknown[host_id])):
            yield host_id, ABSENT, None, None


def flaps(store: Store, days: float, audit_id: int | None = None) -> list[Flap]:
    with store.db.read() as connection:
        when = times(store, connection)
        last = max(when, default=0) if audit_id is None else audit_id
        start = (store.clock() if audit_id is None else when.get(last, 0.0)) - days * 86_400
        first = min((number for number, at in when.items() if at >= start), default=None)
        if first is None:
            return []
        seen: dict[tuple[int, int], list[int | None]] = {}
        for host_id, fact_id, before, value in connection.execute(
                select(span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id)
                .where(span.c.from_audit >= first, span.c.from_audit <= last, span.c.baseline == false())
                .order_by(span.c.from_audit)):
            seen.setdefault((host_id, fact_id), [before]).append(value)
        null = store.interned.null(connection)
        hosts = dict(iter(connection.execute(select(host.c.id, host.c.name))))
        names = store.interned.facts(connection)
    found = []
    for (host_id, fact_id), values in seen.items():
        distinct = len({null if value is None else value for value in values})
        if distinct < len(values):
            found.append(Flap(hosts[host_id], names[fact_id], len(values) - 1, distinct))
    return sorted(found, key=lambda flap: (-flap.times, flap.host, flap.fact))
