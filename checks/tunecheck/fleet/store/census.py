"""The fleet as a whole: who holds what, who holds something else than most, and what never holds still."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, bindparam, false, func, select

from ..uncollected import uncollected
from ..verdict import Since
from . import audits
from .hot import Hot
from .moments import ANSWERED, during, since, there, times
from .peers import peers
from .rows import CensusRow, Flap, Outlier
from .schema import host, snap, span
from .spans import families

if TYPE_CHECKING:
    from .store import Store

__all__ = ["census", "classes", "flaps", "outliers", "survey"]

#: No value: the host does not have the fact.
ABSENT = 0

Cohort = tuple[str, str]

_SPAN = select(span.c.host_id, span.c.value_id, span.c.from_audit, span.c.after_audit, span.c.fact_id)
_NOW = Hot(_SPAN.where(span.c.until_audit.is_(None)))
_THEN = Hot(_SPAN.where(during(bindparam("then"))))


class Unknown(NamedTuple):
    """What a host does not know, as spans.covered has it, for many names: facts by their ``names`` or ``families``, but
    not those that it ``told`` all the same."""

    names: frozenset[str]
    families: tuple[str, ...]
    told: frozenset[str]

    def of(self, name: str) -> bool:
        return name not in self.told and (name in self.names or name.startswith(self.families))


@dataclass
class Tally:
    """One cohort's one fact. ``counts``: value -> hosts; ``holders``: (host, value, from, after, fact) of every host
    that has it."""

    counts: Counter[int]
    holders: list[tuple[Any, ...]]
    unknown: int = 0


@dataclass
class Fleet:
    """As of one audit: every host that answered it, its cohort, and what it does not know."""

    members: dict[int, tuple[str, Cohort]]
    sizes: Counter[Cohort]
    unknown: dict[int, Unknown]
    tallies: dict[tuple[Cohort, int], Tally]
    names: dict[int, str]
    values: dict[int | None, Any]


def _members(store: Store, connection: Connection, number: int,
             also: Collection[int] = ()) -> tuple[dict[int, tuple[str, Cohort]], dict[int, Unknown]]:
    """Every host that answered, with its name and its cohort; and what those that answered in part do not know."""
    rows = connection.execute(
        select(host.c.id, host.c.name, snap.c.about_id).join(snap, snap.c.host_id == host.c.id)
        .where(there(number, also), snap.c.status.in_(ANSWERED))).all()
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
    cohorts: dict[Cohort, Cohort] = {}      # one object each: hashing a hundred thousand equal ones is not free
    members: dict[int, tuple[str, Cohort]] = {}
    unknown: dict[int, Unknown] = {}
    for host_id, name, about in rows:
        cohort = (abouts[about]["group"], classes[host_id])
        members[host_id] = (name, cohorts.setdefault(cohort, cohort))
        if names := abouts[about]["unknown"]:
            unknown[host_id] = Unknown(frozenset(names), families(names), frozenset(abouts[about].get("told", ())))
    return members, unknown


def classes(store: Store, audit_id: int | None) -> dict[str, str]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        return {name: hardware for name, (_, hardware) in _members(store, connection, number)[0].values()}


def _fleet(store: Store, connection: Connection, number: int, also: Collection[int] = ()) -> Fleet:
    members, unknown = _members(store, connection, number, also)
    names = store.interned.facts(connection)
    newest = connection.execute(select(func.max(span.c.from_audit))).scalar() or 0
    by_cohort: dict[Cohort, dict[int, Tally]] = {cohort: {} for _, cohort in members.values()}
    of_host = {host_id: by_cohort[cohort] for host_id, (_, cohort) in members.items()}
    for part in (_NOW if number >= newest else _THEN).parts(connection, {"then": number}):
        for row in part:
            host_id, fact_id = row[0], row[4]
            facts = of_host.get(host_id)
            if facts is None or (host_id in unknown and unknown[host_id].of(names[fact_id])):
                continue
            if (tally := facts.get(fact_id)) is None:
                tally = facts[fact_id] = Tally(Counter(), [])
            tally.holders.append(row)
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
        tally.unknown = sum(fleet.unknown[host_id].of(name) for host_id in partial.get(cohort, ()))
        missing = fleet.sizes[cohort] - len(tally.holders) - tally.unknown
        if missing:
            tally.counts[ABSENT] += missing
        if null != ABSENT:
            tally.holders = [(row[0], ABSENT, *row[2:]) if row[1] == null else row for row in tally.holders]
    fleet.values[ABSENT] = None


def survey(store: Store, share: float, at_least: int, audit_id: int,
           also: Collection[int]) -> tuple[list[CensusRow], list[Outlier], dict[str, str]]:
    with uncollected(), store.db.read() as connection:
        fleet = _fleet(store, connection, audit_id, also)
        return (_census(fleet), _outliers(fleet, times(store, connection), share, at_least),
                {name: hardware for name, (_, hardware) in fleet.members.values()})


def census(store: Store, audit_id: int | None) -> list[CensusRow]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _census(_fleet(store, connection, number))


def _census(fleet: Fleet) -> list[CensusRow]:
    found = [CensusRow(*cohort, fleet.names[fact_id], fleet.values[value], count)
             for (cohort, fact_id), tally in fleet.tallies.items() for value, count in tally.counts.items()]
    found.sort(key=lambda row: (row.group, row.hardware, row.fact, -row.count))
    return found


def outliers(store: Store, share: float, at_least: int, audit_id: int | None) -> list[Outlier]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _outliers(_fleet(store, connection, number), times(store, connection), share, at_least)


def _outliers(fleet: Fleet, when: dict[int, float], share: float, at_least: int) -> list[Outlier]:
    cohorts: dict[Cohort, set[int]] = defaultdict(set)
    for host_id, (_, cohort) in fleet.members.items():
        cohorts[cohort].add(host_id)
    found = []
    moments: dict[tuple[int, int | None], Since] = {}       # few: a change is seen in an audit, often on many hosts
    for (cohort, fact_id), tally in fleet.tallies.items():
        total = fleet.sizes[cohort] - tally.unknown
        majority, count = tally.counts.most_common(1)[0]
        if total < at_least or count == total or count < share * total:
            continue
        for host_id, value, begun, after in _others(fleet, cohort, fact_id, tally, majority, cohorts[cohort]):
            if begun is not None and (begun, after) not in moments:
                moments[begun, after] = since(when, begun, after)
            found.append(Outlier(
                fleet.members[host_id][0], *cohort, fleet.names[fact_id], fleet.values[value],
                fleet.values[majority], count, total, None if begun is None else moments[begun, after]))
    found.sort(key=attrgetter("group", "hardware", "fact", "host"))
    return found


def _others(fleet: Fleet, cohort: Cohort, fact_id: int, tally: Tally, majority: int,
            members: set[int]) -> Iterator[tuple[Any, ...]]:
    yield from (holder[:4] for holder in tally.holders if holder[1] != majority)
    if majority == ABSENT or len(tally.holders) + tally.unknown == len(members):
        return
    for host_id in members - {holder[0] for holder in tally.holders}:
        if not (host_id in fleet.unknown and fleet.unknown[host_id].of(fleet.names[fact_id])):
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
