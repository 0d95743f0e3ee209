"""What a report of one host needs of the others, without a look at every span of the fleet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, false, func, or_, select

from ..fleet_report import Since
from . import history
from .audit_queries import during, parts
from .census import ABSENT, Held, few, survey_of
from .found.alike import alike
from .found.findings import during as found_during
from .groups.members import members_of
from .holding import holding
from .rows import CensusRow, Outlier
from .sanitize import canonical
from .schema import finding, finding_span, host, newest, span, value

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["OneHost"]

#: Hosts that are read before a look whether that was enough.
_STEP = 100
_NONE: frozenset[int] = frozenset()
#: A host's findings are kept up to so many: of one with as many not each problem has one.
_MOST = 2_000
#: Of every host only little is read, once: SQLite need not keep it (KiB).
_CACHE_KIB = 6144


class OneHost:
    """The host ``name`` in an audit that it is in or not. ``members``: number -> name and cohort of every host that
    answered; ``counted``: with those that are silent, as they were last heard."""

    def __init__(self, store: OpenHistory, name: str, number: int) -> None:
        self._store, self.name, self._number = store, name, number
        with store.db.read() as connection:
            if store.db.sqlite:
                connection.exec_driver_sql(f"PRAGMA cache_size=-{_CACHE_KIB}")
            self.counted = members_of(store, connection, number)
            self.members, self._unknown = self.counted.heard, self.counted.unknown
            self._never = self.counted.never_known
            self._null = store.interned.null(connection)
            self.facts = dict(store.interned.facts(connection))
        self._numbers: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._own = next((each for each, (called, _) in self.members.items() if called == name), None)

    @property
    def classes(self) -> dict[str, str]:
        """Host -> the hardware of those that it is compared with."""
        return self.counted.classes

    def survey(self, facts: Collection[str], share: float, at_least: int, few: Collection[str]
               ) -> tuple[list[CensusRow], list[Outlier]]:
        """Store.survey of these facts alone."""
        numbers = {number for number, name in self.facts.items() if name in facts}
        if not numbers:
            return [], []
        with self._store.db.read() as connection:
            return survey_of(self._store, connection, self.counted, self._number, numbers, share, at_least,
                             few)

    def differing(self, share: float, at_least: int, votes: Callable[[str], bool]) -> set[str]:
        """The facts on which the host differs from at least ``share`` of its cohort. A fact is read no further once
        more of them than that would leave have what the host has: mostly the first hundred say so."""
        peers = [] if self._own is None else [
            number for number, (_, cohort) in self.counted.of.items() if cohort == self.members[self._own][1]]
        if self._own is None or len(peers) < at_least:
            return set()
        left = {number for number, name in self.facts.items() if votes(name)} - self._never.get(self._own, _NONE)
        counts: dict[int, Counter[int]] = defaultdict(Counter)
        unknown: Counter[int] = Counter()
        read = 0

        def alike(fact: int, held: int) -> int:
            return counts[fact][held] + (read - unknown[fact] - counts[fact].total() if held == ABSENT else 0)

        with self._store.db.read() as connection:
            mine = {row[4]: self._value(row) for row in self._spans(connection, [self._own], left)}
            for part in parts(peers, _STEP):
                for row in self._spans(connection, part, left):
                    counts[row[4]][self._value(row)] += 1
                for number in part:
                    unknown.update(self._never.get(number, ()))
                read += len(part)
                left = {fact for fact in left if alike(fact, mine.get(fact, ABSENT)) <= (1 - share) * len(peers) + 1e-6}
                if not left:
                    return set()
        found = set()
        for fact in left:
            total = read - unknown[fact]
            most = max((alike(fact, held) for held in {*counts[fact], ABSENT} - {mine.get(fact, ABSENT)}), default=0)
            if total >= at_least and most >= share * total - 1e-6:
                found.add(self.facts[fact])
        return found

    def divided(self, least: float, share: float, at_least: int, votes: Callable[[str], bool]) -> set[str]:
        """The facts of which no value has ``share`` of the host's cohort, and one has ``least``. Counted by the
        database: of most facts nearly all of the cohort have one value."""
        own = self.counted.of.get(self._own) if self._own is not None else None
        peers = [number for number, (_, cohort) in self.counted.of.items() if own is not None and cohort == own[1]]
        if len(peers) < at_least:
            return set()
        facts = sorted(number for number, name in self.facts.items() if votes(name))
        counts: dict[int, Counter[int]] = defaultdict(Counter)
        with self._store.db.read() as connection:
            for part in parts(peers):
                for fact_id, value_id, count in connection.execute(
                        select(span.c.fact_id, span.c.value_id, func.count()).where(
                            span.c.host_id.in_(part), span.c.fact_id.in_(facts), during(self._number))
                        .group_by(span.c.fact_id, span.c.value_id)):
                    counts[fact_id][ABSENT if value_id == self._null else value_id] += count
        unknown = Counter(fact_id for number in peers for fact_id in self._never.get(number, ()))
        found = set()
        for fact_id, held in counts.items():
            total = len(peers) - unknown[fact_id]
            # A host may still hold what it called unknown later: then it was counted, and is no host without a value.
            held[ABSENT] += max(0, total - held.total())
            if total >= at_least and least * total <= max(held.values()) < share * total:
                found.add(self.facts[fact_id])
        return found

    def told(self, names: Collection[str]) -> set[str]:
        """Those of the facts that any host which answered tells, or told while it knew them."""
        left = {number for number, name in self.facts.items() if name in names}
        found: set[int] = set()
        with self._store.db.read() as connection:
            own = [self._own] if self._own is not None else []
            for part in (own, *parts(self.members)):
                if left and part:
                    found.update(row[4] for row in self._spans(connection, part, left))
                    left -= found
        return {self.facts[number] for number in found}

    def pairs(self) -> set[tuple[str, str]]:
        """(group, fact) of all that the hosts which answered told last. One host of a group tells nearly all of it."""
        groups: dict[str, list[int]] = defaultdict(list)
        for number, (_, (group, _)) in self.members.items():
            groups[group].append(number)
        found: dict[str, set[int]] = defaultdict(set)
        with self._store.db.read() as connection:
            for part in parts([numbers[0] for numbers in groups.values()]):
                for row in self._spans(connection, part, self.facts):
                    found[self.members[row[0]][1][0]].add(row[4])
            for group, numbers in groups.items():
                left = self.facts.keys() - found[group]
                for part in parts(numbers[1:]) if left else ():
                    found[group].update(row[4] for row in self._spans(connection, part, left))
        return {(group, self.facts[number]) for group, numbers in found.items() for number in numbers}

    def last_told(self) -> set[tuple[str, str]]:
        """(group, fact) of all that silent hosts told when they were last heard."""
        with self._store.db.read() as connection:
            return {(self.counted.of[row[0]][1][0], self.facts[row[4]])
                    for row in self._spans(connection, self.counted.silent, self.facts)}

    def moved(self, after: int, groups: Mapping[str, str]) -> set[tuple[str, str]]:
        """(group, fact) of all that changed on the hosts of ``groups`` (host -> its group in this audit) after that
        audit, and of what changed earlier and is so."""
        with self._store.db.read() as connection:
            return {(groups[name], self.facts[number]) for name, number in connection.execute(
                select(host.c.name, span.c.fact_id).join(host, host.c.id == span.c.host_id)
                .where(span.c.baseline == false(), span.c.from_audit <= self._number,
                       or_(span.c.from_audit > after, span.c.until_audit.is_(None),
                           span.c.until_audit > self._number))) if name in groups}

    def found(self) -> set[tuple[str, str]]:
        """(group, check) of every finding of the hosts that answered."""
        found: set[tuple[str, int]] = set()
        with self._store.db.read() as connection:
            for host_id, number in connection.execute(select(finding_span.c.host_id, finding_span.c.finding_id).where(
                    found_during(self._number))):
                if host_id in self.members:
                    found.add((self.members[host_id][1][0], number))
            called = dict(iter(connection.execute(select(finding.c.id, finding.c.check))))
        return {(group, called[number]) for group, number in found}

    def odd(self) -> list[str]:
        """Hosts of which not every problem is kept as a finding: a host tells too many, or a history from before
        findings were kept (0002) has heard nothing of it since."""
        with self._store.db.read() as connection:
            many = set(connection.execute(select(finding_span.c.host_id).group_by(finding_span.c.host_id).having(
                func.count() >= _MOST)).scalars())
            none = connection.execute(select(host.c.id).where(~select(finding_span.c.host_id).where(
                finding_span.c.host_id == host.c.id).exists())).scalars()
            left = self.members.keys() & none
            without = {number for part in parts(left) for number in connection.execute(
                select(newest.c.host_id).where(newest.c.host_id.in_(part), newest.c.problems != "[]")).scalars()}
        return [name for number, (name, _) in self.members.items()
                if number in many or number in without]

    def alike(self, checks: Collection[str]) -> list[list[str]]:
        """Every host of the audit with a finding of these checks, those together that have and tell the same."""
        with self._store.db.read() as connection:
            found = alike(self._store, connection, self._number, checks)
        return [[self.counted.of[number][0] for number in numbers if number in self.counted.of] for numbers in found]

    def holders(self, facts: Collection[str]) -> dict[str, dict[str, tuple[Any, Since]]]:
        """As Store.held, of those hosts that may share a value with this one: of a list, one of its texts."""
        with self._store.db.read() as connection:
            numbers = sorted(number for number, name in self.facts.items() if name in facts)
            own = connection.execute(
                select(span.c.value_id, value.c.json).join(value, value.c.id == span.c.value_id).where(
                    # No join: SQLite would begin with the facts, and read every span for them.
                    span.c.host_id.in_(select(host.c.id).where(host.c.name == self.name)),
                    span.c.fact_id.in_(numbers), during(self._number))).all()
            same = {number for number, _ in own} | holding(connection, {
                text for _, json in own for text in _texts(json)})
            rows = connection.execute(
                select(span.c.fact_id, span.c.value_id, span.c.host_id, span.c.from_audit, span.c.after_audit).where(
                    span.c.host_id.in_(select(host.c.id)), span.c.fact_id.in_(numbers), span.c.value_id.in_(same),
                    during(self._number))).all()
            return history.held_by(self._store, connection, rows, self._number)

    def knows(self, name: str, fact: str) -> bool:
        """Whether the host does not call the fact unknown, or did not when it was last heard."""
        if not self._numbers:
            self._numbers = {called: number for number, (called, _) in self.counted.of.items()}
            self._names = {called: number for number, called in self.facts.items()}
        number = self._numbers.get(name)
        return number is not None and self._names[fact] not in self._unknown.get(number, _NONE)

    def _spans(self, connection: Connection, hosts: Collection[int], facts: Collection[int]) -> Iterator[Held]:
        """Of these facts, as the hosts told them last."""
        for part in few(connection, self._number, hosts, facts):
            yield from (row for row in part if row[4] not in self._never.get(row[0], _NONE))

    def _value(self, row: Held) -> int:
        return ABSENT if row[1] == self._null else int(row[1])


def _texts(json: str) -> list[str]:
    """Of a text, or a list of texts, each as JSON."""
    held = loads(json)
    return [canonical(each) for each in (held if isinstance(held, list) else [held]) if isinstance(each, str)]
