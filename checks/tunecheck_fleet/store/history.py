"""What one host is and was: its facts now, at an audit, and through time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, func, select

from ..fleet_report import Since
from ..model import Change
from .audit_queries import during, earlier_names, parts, since, there, times
from .holding import holding
from .hosts import find
from .rows import Span
from .sanitize import canonical
from .schema import audit, fact, host, journal, snap, span, value
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["at", "board", "boards_elsewhere", "current", "held", "held_by", "names_and_values", "receipt", "runs",
           "spans"]

#: Facts that are lists of boards.
_BOARDS = ("gpu.serials", "gpu.uuids")
_RUNS = Hot(select(journal.c.host_id, journal.c.first_audit, journal.c.last_audit, journal.c.run, journal.c.at,
                   journal.c.state).where(within(journal.c.host_id, "hosts")))
_ASKED = Hot(select(snap.c.host_id).join(host, host.c.id == snap.c.host_id).where(
    within(snap.c.host_id, "hosts"), there(bindparam("then"), ())))
_HELD = Hot(select(span.c.fact_id, span.c.value_id, span.c.host_id, span.c.from_audit, span.c.after_audit).join(
    fact, fact.c.id == span.c.fact_id).where(within(fact.c.name, "names"), during(bindparam("then"))))
_NAMED = select(host.c.name, host.c.id).order_by(host.c.retired_audit.is_(None), host.c.last_audit)
_EVERY, _HOLDING = Hot(_NAMED), Hot(_NAMED.where(host.c.name.in_(
    select(host.c.name).where(within(host.c.id, "hosts")))))
#: So few hosts are asked for by number; where there are more, all of them are read.
_FEW = 1000


def current(store: OpenHistory, name: str) -> dict[str, tuple[Any, Since]]:
    with store.db.read() as connection:
        row = find(store, connection, name)
        when = times(store, connection)
        rows = connection.execute(select(span.c.fact_id, span.c.value_id, span.c.from_audit, span.c.after_audit)
                                  .where(span.c.host_id == row.id, span.c.until_audit.is_(None))).all()
        named, values = names_and_values(store, connection, rows)
    return {named[number]: (values[held], since(when, seen, after)) for number, held, seen, after in rows}


def at(store: OpenHistory, name: str, audit_id: int) -> dict[str, Any]:
    """``name``: what the host was called in that audit."""
    with store.db.read() as connection:
        number = _called(connection, name, audit_id)
        if number is None:
            number = find(store, connection, name).id
        rows = connection.execute(select(span.c.fact_id, span.c.value_id)
                                  .where(span.c.host_id == number, during(audit_id))).all()
        named, values = names_and_values(store, connection, rows)
    return {named[number]: values[held] for number, held in rows if values[held] is not None}


def _called(connection: Connection, name: str, audit_id: int) -> int | None:
    """The host that was called so in that audit: the one that was asked there, where several were."""
    called = earlier_names(connection, audit_id)
    earlier = [each for each, then in called.items() if then == name]
    now = connection.execute(select(host.c.id).where(host.c.name == name)).scalars()
    those = [*earlier, *(each for each in now if each not in called)]
    return next(iter(_asked(connection, those, audit_id)), earlier[0] if earlier else None)


def _asked(connection: Connection, host_ids: Sequence[int], audit_id: int) -> set[int]:
    """Those of the hosts that were asked in that audit."""
    if not host_ids:
        return set()
    return {number for number, in _ASKED(connection, {"hosts": host_ids, "then": audit_id})}


def held(store: OpenHistory, facts: Iterable[str], audit_id: int) -> dict[str, dict[str, tuple[Any, Since]]]:
    with store.db.read() as connection:
        return held_by(store, connection, _HELD(connection, {"names": list(facts), "then": audit_id}), audit_id)


def held_by(store: OpenHistory, connection: Connection,
            rows: Sequence[Any], audit_id: int) -> dict[str, dict[str, tuple[Any, Since]]]:
    """Rows of fact, value, host, from and after; by the names that hosts had in that audit."""
    # Of several hosts that had one name, the one that was asked then, else the one that ``find`` takes: the last here.
    called = earlier_names(connection, audit_id)
    few = len(holding := {row[2] for row in rows}) < _FEW and not called
    those: dict[str, list[int]] = {}
    for name, number in _HOLDING(connection, {"hosts": holding}) if few else _EVERY(connection):
        those.setdefault(called.get(number, name), []).append(number)
    here = _asked(connection, [number for several in those.values() if len(several) > 1 for number in several],
                  audit_id)
    named = {next((number for number in several if number in here), several[-1]): name
             for name, several in those.items()}
    facts_of, values = names_and_values(store, connection, rows)
    when = times(store, connection)
    found: dict[str, dict[str, tuple[Any, Since]]] = {}
    for fact_id, value_id, host_id, begun, after in rows:
        if host_id in named and values[value_id] is not None:
            found.setdefault(named[host_id], {})[facts_of[fact_id]] = values[value_id], since(when, begun, after)
    return found


def spans(store: OpenHistory, name: str, fact_name: str | None, from_time: float | None) -> list[Span]:
    wanted = select(span.c.fact_id, span.c.value_id, span.c.from_audit, span.c.after_audit, span.c.until_audit,
                    span.c.before_id, span.c.baseline).order_by(span.c.from_audit, span.c.fact_id)
    if fact_name is not None:
        wanted = wanted.join(fact, fact.c.id == span.c.fact_id).where(
            func.substr(fact.c.name, 1, len(fact_name)) == fact_name if fact_name.endswith(".")
            else fact.c.name == fact_name)
    if from_time is not None:
        wanted = wanted.join(audit, audit.c.id == span.c.from_audit).where(audit.c.started >= from_time)
    with store.db.read() as connection:
        row = find(store, connection, name)
        when = times(store, connection)
        rows = connection.execute(wanted.where(span.c.host_id == row.id)).all()
        named, values = names_and_values(store, connection, rows)
        before = store.interned.decoded(connection, {row.before_id for row in rows})
        ran = runs(connection, [row.id] if any(not row.baseline for row in rows) else [])
    return [Span(name, named[fact_id], values[value_id], before[before_id], since(when, begun, after), until,
                 None if until is None else when.get(until), baseline,
                 None if baseline else receipt(ran, row.id, begun))
            for fact_id, value_id, begun, after, until, before_id, baseline in rows]


def board(store: OpenHistory, serial: str) -> list[Span]:
    """Where a GPU was, by its serial number or UUID, the oldest first: ``host`` and from when to when."""
    with store.db.read() as connection:
        when = times(store, connection)
        rows = connection.execute(
            select(span.c.fact_id, span.c.value_id, span.c.host_id, host.c.name, span.c.from_audit, span.c.after_audit,
                   span.c.until_audit, span.c.baseline)
            .join(host, host.c.id == span.c.host_id).join(fact, fact.c.id == span.c.fact_id)
            .join(value, value.c.id == span.c.value_id)
            .where(fact.c.name.in_(_BOARDS), value.c.json.contains(f'"{serial}"', autoescape=True))
            .order_by(span.c.host_id, span.c.fact_id, span.c.from_audit)).all()
        named, values = names_and_values(store, connection, rows)
    found: list[Span] = []
    for row in rows:
        if serial not in (values[row.value_id] or ()):
            continue
        last = found[-1] if found else None
        ended = None if row.until_audit is None else when.get(row.until_audit)
        # Another board of the same host was replaced: this one stayed where it was.
        if last is not None and (last.host, last.fact, last.until) == (row.name, named[row.fact_id], row.from_audit):
            found[-1] = replace(last, until=row.until_audit, until_at=ended)
        else:
            found.append(Span(row.name, named[row.fact_id], serial, None, since(when, row.from_audit, row.after_audit),
                              row.until_audit, ended, row.baseline))
    return sorted(found, key=lambda span: (span.since.seen, span.host))


def boards_elsewhere(store: OpenHistory, name: str, boards: Collection[str]) -> set[str]:
    """Those of the boards that a host of another name has told, ever."""
    if not boards:
        return set()
    with store.db.read() as connection:
        there = {number for part in parts(holding(connection, {canonical(board) for board in boards}))
                 for number in connection.execute(
                     select(span.c.value_id).distinct().join(host, host.c.id == span.c.host_id)
                     .join(fact, fact.c.id == span.c.fact_id)
                     .where(fact.c.name.in_(_BOARDS), span.c.value_id.in_(part), host.c.name != name)).scalars()}
        return {each for told in store.interned.decoded(connection, there).values() if isinstance(told, list)
                for each in told}.intersection(boards)


def names_and_values(store: OpenHistory, connection: Connection,
          rows: Sequence[Any]) -> tuple[dict[int, str], dict[int | None, Any]]:
    """Names and values of rows that begin with fact and value."""
    named = store.interned.names
    if any(row[0] not in named for row in rows):
        named = store.interned.facts(connection)
    return named, store.interned.decoded(connection, {row[1] for row in rows})


def runs(connection: Connection, host_ids: Iterable[int]) -> dict[int, list[tuple[int, int, Change]]]:
    """host -> runs of our own, as (first told in this audit, last, run)."""
    found: dict[int, list[tuple[int, int, Change]]] = {}
    if numbers := set(host_ids):
        for host_id, first, last, run, at, state in _RUNS(connection, {"hosts": numbers}):
            found.setdefault(host_id, []).append((first, last, Change(run, at, state)))
    return found


def receipt(ran: dict[int, list[tuple[int, int, Change]]], host_id: int, seen: int) -> Change | None:
    """The run that the box told of when the change was seen. Audits are compared, not clocks: the box's may be off."""
    return next((run for first, last, run in ran.get(host_id, ()) if first <= seen <= last), None)
