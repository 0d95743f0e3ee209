"""The fleet as a whole: who holds what, who holds something else than most, and what never holds still."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, bindparam, false, func, select

from ..uncollected import uncollected
from ..verdict import Since
from . import audits
from .audit_queries import ANSWERED, during, since, there, times
from .compiled_statements import Hot
from .peers import peers
from .rows import CensusRow, Flap, Outlier
from .schema import host, snap, span
from .spans import families

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["census", "classes", "flaps", "outliers", "survey"]

#: No value: the host does not have the fact.
ABSENT = 0

Cohort = tuple[str, str]

_SPAN = select(span.c.host_id, span.c.value_id, span.c.from_audit, span.c.after_audit, span.c.fact_id)
_NOW = Hot(_SPAN.where(span.c.until_audit.is_(None)))
_THEN = Hot(_SPAN.where(during(bindparam("then"))))

#: (host, value, from, after, fact) of a span.
Held = tuple[Any, ...]


class Unknown(NamedTuple):
    """What a host does not know, as spans.covered has it: facts by their ``names`` or ``families``, but not those that
    it ``reported`` all the same."""

    names: frozenset[str]
    families: tuple[str, ...]
    reported: frozenset[str]

    def of(self, facts: Mapping[int, str]) -> frozenset[int]:
        """The numbers of those of the facts."""
        return frozenset(number for number, name in facts.items() if name not in self.reported and (
            name in self.names or name.startswith(self.families)))


@dataclass
class Tally:
    """One cohort's one fact. ``counts``: value -> hosts; ``held``: hosts that have any. Only the spans that do not have
    the value ``first`` are at hand (``others``): most hosts say the same, and a hundred spans of each of 10,000 hosts
    would be 300 MiB."""

    counts: Counter[int]
    first: int
    others: list[Held]
    held: int = 0
    unknown: int = 0


@dataclass
class Fleet:
    """As of one audit: every host that answered it, its cohort, and the numbers of the facts that it does not know.
    ``spans`` reads every span of these facts."""

    members: dict[int, tuple[str, Cohort]]
    sizes: Counter[Cohort]
    unknown: dict[int, frozenset[int]]
    tallies: dict[tuple[Cohort, int], Tally]
    names: dict[int, str]
    values: dict[int | None, Any]
    null: int
    spans: Callable[[Collection[int]], Iterable[Held]]

    def absent(self, row: Held) -> Held:
        """The span, with absence by one name."""
        return (row[0], ABSENT, *row[2:]) if row[1] == self.null else row


def _members(store: OpenHistory, connection: Connection, number: int,
             also: Collection[int] = ()) -> tuple[dict[int, tuple[str, Cohort]], dict[int, frozenset[int]]]:
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
    unknown: dict[int, frozenset[int]] = {}
    facts = store.interned.facts(connection)
    same: dict[int, frozenset[int]] = {}    # most hosts say the same of themselves
    for host_id, name, about in rows:
        cohort = (abouts[about]["group"], classes[host_id])
        members[host_id] = (name, cohorts.setdefault(cohort, cohort))
        if names := abouts[about]["unknown"]:
            if about not in same:
                reported = frozenset(abouts[about].get("told", ()))
                same[about] = Unknown(frozenset(names), families(names), reported).of(facts)
            unknown[host_id] = same[about]
    return members, unknown


def classes(store: OpenHistory, audit_id: int | None) -> dict[str, str]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        return {name: hardware for name, (_, hardware) in _members(store, connection, number)[0].values()}


def _fleet(store: OpenHistory, connection: Connection, number: int, also: Collection[int] = ()) -> Fleet:
    members, unknown = _members(store, connection, number, also)
    names = store.interned.facts(connection)
    newest = connection.execute(select(func.max(span.c.from_audit))).scalar() or 0
    tallies = _tallies((_NOW if number >= newest else _THEN).parts(connection, {"then": number}), members, unknown)
    values = store.interned.decoded(connection, {value for tally in tallies.values() for value in tally.counts})
    null = next((number for number, value in values.items() if number is not None and value is None), ABSENT)

    def spans(facts: Collection[int]) -> Iterable[Held]:
        # SQLite reads as of the first statement. PostgreSQL may have heard of a later audit since.
        held = span.c.until_audit.is_(None) if number >= newest and store.db.sqlite else during(number)
        return (tuple(row) for row in connection.execute(_SPAN.where(held, span.c.fact_id.in_(sorted(facts)))))

    fleet = Fleet(members, Counter(cohort for _, cohort in members.values()), unknown, tallies, names, values, null,
                  spans)
    _absences(fleet)
    return fleet


def _tallies(parts: Iterator[Sequence[Held]], members: Mapping[int, tuple[str, Cohort]],
             unknown: Mapping[int, frozenset[int]]) -> dict[tuple[Cohort, int], Tally]:
    """A million spans pass through here."""
    cohorts = list(dict.fromkeys(cohort for _, cohort in members.values()))
    number_of = {cohort: number for number, cohort in enumerate(cohorts)}
    of_host = {host_id: number_of[cohort] for host_id, (_, cohort) in members.items()}
    nothing: frozenset[int] = frozenset()
    first: dict[tuple[int, int], int] = {}
    counts: Counter[tuple[int, int, int]] = Counter()
    others: dict[tuple[int, int], list[Held]] = {}
    for part in parts:
        rows = [(of_host[row[0]], row[4], row[1], row) for row in part
                if row[0] in of_host and row[4] not in unknown.get(row[0], nothing)]
        counts.update([row[:3] for row in rows])
        for cohort, fact_id, value, row in rows:
            if first.setdefault((cohort, fact_id), value) != value:
                others.setdefault((cohort, fact_id), []).append(row)
    found = {(cohorts[cohort], fact_id): Tally(Counter(), value, others.get((cohort, fact_id), []))
             for (cohort, fact_id), value in first.items()}
    for (cohort, fact_id, value), count in counts.items():
        tally = found[cohorts[cohort], fact_id]
        tally.counts[value] = count
        tally.held += count
    return found


def _absences(fleet: Fleet) -> None:
    """A fact that some of a cohort have and others never told: those that could have told it do not have it."""
    partial: dict[Cohort, Counter[frozenset[int]]] = defaultdict(Counter)
    for host_id, facts in fleet.unknown.items():
        partial[fleet.members[host_id][1]][facts] += 1
    null = fleet.null
    for (cohort, fact_id), tally in fleet.tallies.items():
        for number in [number for number in tally.counts if fleet.values[number] is None]:
            tally.counts[ABSENT] += tally.counts.pop(number)
        tally.unknown = sum(hosts for facts, hosts in partial[cohort].items() if fact_id in facts)
        missing = fleet.sizes[cohort] - tally.held - tally.unknown
        if missing:
            tally.counts[ABSENT] += missing
        if null != ABSENT:
            tally.first = ABSENT if tally.first == null else tally.first
            tally.others = [fleet.absent(row) for row in tally.others]
    fleet.values[ABSENT] = None


def survey(store: OpenHistory, share: float, at_least: int, audit_id: int,
           also: Collection[int]) -> tuple[list[CensusRow], list[Outlier], dict[str, str]]:
    with uncollected(), store.db.read() as connection:
        fleet = _fleet(store, connection, audit_id, also)
        return (_census(fleet), _outliers(fleet, times(store, connection), share, at_least),
                {name: hardware for name, (_, hardware) in fleet.members.values()})


def census(store: OpenHistory, audit_id: int | None) -> list[CensusRow]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _census(_fleet(store, connection, number))


def _census(fleet: Fleet) -> list[CensusRow]:
    found = [CensusRow(*cohort, fleet.names[fact_id], fleet.values[value], count)
             for (cohort, fact_id), tally in fleet.tallies.items() for value, count in tally.counts.items()]
    found.sort(key=lambda row: (row.group, row.hardware, row.fact, -row.count))
    return found


def outliers(store: OpenHistory, share: float, at_least: int, audit_id: int | None) -> list[Outlier]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _outliers(_fleet(store, connection, number), times(store, connection), share, at_least)


def _outliers(fleet: Fleet, when: dict[int, float], share: float, at_least: int) -> list[Outlier]:
    chosen: dict[tuple[Cohort, int], int] = {}      # -> what most have
    for key, tally in fleet.tallies.items():
        total = fleet.sizes[key[0]] - tally.unknown
        majority, count = tally.counts.most_common(1)[0]
        if total >= at_least and count != total and count >= share * total:
            chosen[key] = majority
    again = _read_again(fleet, chosen)
    found = []
    moments: dict[tuple[int, int | None], Since] = {}       # few: a change is seen in an audit, often on many hosts
    for key, majority in chosen.items():
        (cohort, fact_id), tally = key, fleet.tallies[key]
        total, count = fleet.sizes[cohort] - tally.unknown, tally.counts[majority]
        rows, silent = again.get(key) or (tally.others, set())
        for host_id, value, begun, after in ([row[:4] for row in rows]
                                             + [(each, ABSENT, None, None) for each in silent]):
            if begun is not None and (begun, after) not in moments:
                moments[begun, after] = since(when, begun, after)
            found.append(Outlier(
                fleet.members[host_id][0], *cohort, fleet.names[fact_id], fleet.values[value],
                fleet.values[majority], count, total, None if begun is None else moments[begun, after]))
    found.sort(key=attrgetter("group", "hardware", "fact", "host"))
    return found


def _read_again(fleet: Fleet, chosen: Mapping[tuple[Cohort, int], int]
                ) -> dict[tuple[Cohort, int], tuple[list[Held], set[int]]]:
    """The spans that do not have what most have, and the hosts that have none. Only where the tally does not hold them:
    the first host was one of the others, or not every host has the fact."""
    found: dict[tuple[Cohort, int], tuple[list[Held], set[int]]] = {}
    for key, majority in chosen.items():
        tally = fleet.tallies[key]
        lacking = majority != ABSENT and tally.held + tally.unknown < fleet.sizes[key[0]]
        if lacking or majority != tally.first:
            found[key] = [], set()
            if lacking:
                found[key][1].update(host_id for host_id, (_, cohort) in fleet.members.items() if cohort == key[0]
                                     and key[1] not in fleet.unknown.get(host_id, ()))
    for row in fleet.spans({fact_id for _, fact_id in found}) if found else ():
        host_id, fact_id = row[0], row[4]
        if host_id not in fleet.members or fact_id in fleet.unknown.get(host_id, ()):
            continue
        key = fleet.members[host_id][1], fact_id
        if key in found:
            others, silent = found[key]
            silent.discard(host_id)
            if (row := fleet.absent(row))[1] != chosen[key]:
                others.append(row)
    return found


def flaps(store: OpenHistory, days: float, audit_id: int | None = None) -> list[Flap]:
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
