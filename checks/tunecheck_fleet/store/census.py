"""The fleet as a whole: who holds what, and who holds something else than most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, func, select

from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Since
from ..uncollected import uncollected
from . import audits
from .audit_queries import during, parts, since, times
from .groups.members import Cohort, Members, members_of
from .rows import CensusRow, Outlier
from .schema import span
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["ABSENT", "Held", "census", "few", "outliers", "survey", "survey_of"]

#: No value: the host does not have the fact.
ABSENT = 0

_SPAN = select(span.c.host_id, span.c.value_id, span.c.from_audit, span.c.after_audit, span.c.fact_id)
_NOW = Hot(_SPAN.where(span.c.until_audit.is_(None)))
_THEN = Hot(_SPAN.where(during(bindparam("then"))))
_FEW = Hot(_SPAN.where(during(bindparam("then")), within(span.c.host_id, "hosts"), within(span.c.fact_id, "facts")))

#: (host, value, from, after, fact) of a span.
Held = tuple[Any, ...]


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
    #: Whether a host that answered holds any.
    heard: bool = False


@dataclass
class Fleet:
    """As of one audit: the hosts that count, the cohort of each, the numbers of the facts that it never told
    (``unknown``), and of those that it does not know now when it told them last.
    ``spans`` reads every span of these facts."""

    members: dict[int, tuple[str, Cohort]]
    sizes: Counter[Cohort]
    unknown: dict[int, frozenset[int]]
    told: dict[int, dict[int, int]]
    tallies: dict[tuple[Cohort, int], Tally]
    names: dict[int, str]
    values: dict[int | None, Any]
    null: int
    spans: Callable[[Collection[int]], Iterable[Held]]

    def absent(self, row: Held) -> Held:
        """The span, with absence by one name."""
        return (row[0], ABSENT, *row[2:]) if row[1] == self.null else row


def _fleet(store: OpenHistory, connection: Connection, number: int, members: Members) -> Fleet:
    newest = connection.execute(select(func.max(span.c.from_audit))).scalar() or 0
    rows = (_NOW if number >= newest else _THEN).parts(connection, {"then": number})

    def spans(facts: Collection[int]) -> Iterable[Held]:
        # SQLite reads as of the first statement. PostgreSQL may have heard of a later audit since.
        held = span.c.until_audit.is_(None) if number >= newest and store.db.sqlite else during(number)
        return (tuple(row) for row in connection.execute(_SPAN.where(held, span.c.fact_id.in_(sorted(facts)))))

    return _counted(store, connection, members, rows, spans)


def few(connection: Connection, number: int, members: Collection[int],
        facts: Collection[int]) -> Iterator[Sequence[Held]]:
    """The spans of a few facts. By host: nothing leads from a fact to its spans, and to read all of them costs more."""
    for part in parts(members):
        yield _FEW(connection, {"then": number, "hosts": part, "facts": facts})


def _heard(store: OpenHistory, connection: Connection, number: int) -> Fleet:
    """Of the hosts that answered, and what they know now."""
    members = members_of(store, connection, number)
    return _fleet(store, connection, number, members._replace(
        of=members.heard, told={}, silent=frozenset(), unknown={
            host_id: facts for host_id, facts in members.unknown.items() if host_id not in members.silent}))


def _counted(store: OpenHistory, connection: Connection, members: Members, rows: Iterator[Sequence[Held]],
             spans: Callable[[Collection[int]], Iterable[Held]]) -> Fleet:
    names = store.interned.facts(connection)
    tallies = _tallies(rows, members)
    values = store.interned.decoded(connection, {value for tally in tallies.values() for value in tally.counts})
    null = next((number for number, value in values.items() if number is not None and value is None), ABSENT)
    fleet = Fleet(members.of, Counter(cohort for _, cohort in members.of.values()), members.never_known, members.told,
                  tallies, names, values, null, spans)
    _absences(fleet)
    return fleet


def _tallies(parts: Iterator[Sequence[Held]], members: Members) -> dict[tuple[Cohort, int], Tally]:
    """A million spans pass through here."""
    unknown, silent = members.never_known, members.silent
    cohorts = list(dict.fromkeys(cohort for _, cohort in members.of.values()))
    number_of = {cohort: number for number, cohort in enumerate(cohorts)}
    of_host = {host_id: number_of[cohort] for host_id, (_, cohort) in members.of.items()}
    nothing: frozenset[int] = frozenset()
    last: Counter[tuple[int, int]] = Counter()      # what silent hosts told last
    first: dict[tuple[int, int], int] = {}
    counts: Counter[tuple[int, int, int]] = Counter()
    others: dict[tuple[int, int], list[Held]] = {}
    for part in parts:
        rows = [(of_host[row[0]], row[4], row[1], row) for row in part
                if row[0] in of_host and row[4] not in unknown.get(row[0], nothing)]
        counts.update([row[:3] for row in rows])
        if silent:
            last.update([row[:2] for row in rows if row[3][0] in silent])
        for cohort, fact_id, value, row in rows:
            if first.setdefault((cohort, fact_id), value) != value:
                others.setdefault((cohort, fact_id), []).append(row)
    found = {(cohorts[cohort], fact_id): Tally(Counter(), value, others.get((cohort, fact_id), []))
             for (cohort, fact_id), value in first.items()}
    for (cohort, fact_id, value), count in counts.items():
        tally = found[cohorts[cohort], fact_id]
        tally.counts[value] = count
        tally.held += count
    for cohort, fact_id in first:
        tally = found[cohorts[cohort], fact_id]
        tally.heard = tally.held > last[cohort, fact_id]
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


def survey(store: OpenHistory, share: float, at_least: int, audit_id: int, also: Collection[int],
           few_count: Collection[str] = ()) -> tuple[list[CensusRow], list[Outlier], dict[str, str]]:
    with uncollected(), store.db.read() as connection:
        members = members_of(store, connection, audit_id, also)
        fleet = _fleet(store, connection, audit_id, members)
        return (*_surveyed(fleet, times(store, connection), share, at_least, few_count), members.classes)


def survey_of(store: OpenHistory, connection: Connection, members: Members, number: int, facts: Collection[int],
              share: float, at_least: int, few_count: Collection[str] = ()) -> tuple[list[CensusRow], list[Outlier]]:
    """``survey`` of these facts alone, of hosts that are known."""
    fleet = _counted(store, connection, members, few(connection, number, members.of, facts),
                     lambda facts: chain.from_iterable(few(connection, number, members.of, facts)))
    return _surveyed(fleet, times(store, connection), share, at_least, few_count)


def _surveyed(fleet: Fleet, when: dict[int, float], share: float, at_least: int, few_count: Collection[str]
              ) -> tuple[list[CensusRow], list[Outlier]]:
    """What only silent hosts told is judged where it sets one apart, and is no vote of anybody else."""
    found = _outliers(fleet, when, share, at_least, few_count)
    apart = {(row.group, row.hardware, row.fact) for row in found}
    return _census(fleet, apart), found


def census(store: OpenHistory, audit_id: int | None) -> list[CensusRow]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _census(_heard(store, connection, number))


def _census(fleet: Fleet, apart: Collection[tuple[str, str, str]] = ()) -> list[CensusRow]:
    """Of what hosts that answered told, and of ``apart``: (group, hardware, fact)."""
    found = [CensusRow(*cohort, fleet.names[fact_id], fleet.values[value], count)
             for (cohort, fact_id), tally in fleet.tallies.items() for value, count in tally.counts.items()
             if tally.heard or (*cohort, fleet.names[fact_id]) in apart]
    found.sort(key=lambda row: (row.group, row.hardware, row.fact, -row.count))
    return found


def outliers(store: OpenHistory, share: float, at_least: int, audit_id: int | None) -> list[Outlier]:
    number = audits.head(store, audit_id).id
    with uncollected(), store.db.read() as connection:
        return _outliers(_heard(store, connection, number), times(store, connection), share, at_least)


def _outliers(fleet: Fleet, when: dict[int, float], share: float, at_least: int,
              few_count: Collection[str] = ()) -> list[Outlier]:
    """``few_count``: facts of which fewer hosts count, too: where a host differed, and its like became fewer."""
    chosen: dict[tuple[Cohort, int], int] = {}      # -> what most have
    for key, tally in fleet.tallies.items():
        total = fleet.sizes[key[0]] - tally.unknown
        majority, count = tally.counts.most_common(1)[0]
        if (total >= at_least or fleet.names[key[1]] in few_count) and count != total and count >= share * total:
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
                fleet.values[majority], count, total, None if begun is None else moments[begun, after],
                fleet.told.get(host_id, {}).get(fact_id)))
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
