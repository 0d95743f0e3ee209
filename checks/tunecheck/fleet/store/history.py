"""What a host, and every host, is and was."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import zstandard
from sqlalchemy import Connection, Row, Select, false, func, or_, select, true

from ...errors import UsageError
from ..model import Change, Problem
from ..verdict import Since
from . import audits
from .rows import ChangeRow, DiffRow, HostState, IdentityEvent, ProblemSince, Span, TimelineRow
from .schema import audit, fact, finding, finding_span, host, identity, journal, newest, snap, span

if TYPE_CHECKING:
    from .store import Store

__all__ = [
    "at",
    "changes",
    "current",
    "diff",
    "during",
    "hosts",
    "identity_events",
    "known_hosts",
    "newest_document",
    "problems_resolved",
    "problems_since",
    "spans",
    "timeline",
    "times",
]

ANSWERED = ("ok", "partial")
#: A snap's end: its own, or as long as its host is heard of in the same way.
SNAP_END = func.coalesce(snap.c.to_audit, host.c.last_audit)
_MOST = 2**31 - 1


def times(store: Store, connection: Connection) -> dict[int, float]:
    """Audit -> when it began."""
    last = next(reversed(store.times), 0)
    for number, started in connection.execute(select(audit.c.id, audit.c.started).where(audit.c.id > last)
                                              .order_by(audit.c.id)):
        store.times[number] = started
    return store.times


def since(when: dict[int, float], seen: int, after: int | None) -> Since:
    return Since(seen, when.get(seen, 0.0), after, None if after is None else when.get(after))


def during(audit_id: int) -> Any:
    """Spans that held at that audit."""
    return (span.c.from_audit <= audit_id) & or_(span.c.until_audit.is_(None), span.c.until_audit > audit_id)


def hosts(store: Store, audit_id: int | None) -> list[HostState]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        when = times(store, connection)
        rows = connection.execute(
            select(host, snap.c.status.label("said"), snap.c.about_id.label("about"), newest.c.audit_id.label("heard"),
                   newest.c.boot_id, newest.c.volatile, newest.c.problems, newest.c.outcomes)
            .join(snap, snap.c.host_id == host.c.id).join(newest, newest.c.host_id == host.c.id, isouter=True)
            .where(snap.c.from_audit <= number, number <= SNAP_END).order_by(host.c.name, host.c.id)).all()
        abouts = store.interned.decoded(connection, {row.about for row in rows})
        silent = [row.id for row in rows if row.said not in ANSWERED]
        earlier = {row[0]: row[1:] for row in _last_answers(connection, silent, number)}
        before = store.interned.decoded(connection, {about for _, about in earlier.values()})
    return [_state(row, abouts[row.about], number, earlier.get(row.id), before, when) for row in rows]


def _last_answers(connection: Connection, host_ids: Sequence[int], number: int) -> list[tuple[int, int, int]]:
    """(host, its last audit up to ``number`` with an answer, what it said about itself there)."""
    found: dict[int, tuple[int, int, int]] = {}
    for start in range(0, len(host_ids), 1000):
        wanted = (select(snap.c.host_id, SNAP_END, snap.c.about_id).join(host, host.c.id == snap.c.host_id)
                  .where(snap.c.host_id.in_(host_ids[start:start + 1000]), snap.c.status.in_(ANSWERED),
                         snap.c.from_audit <= number).order_by(snap.c.from_audit))
        found.update((number_, (number_, ended, about)) for number_, ended, about in connection.execute(wanted))
    return list(found.values())


def _state(row: Row[Any], about: dict[str, Any], number: int, earlier: Sequence[int] | None,
           before: dict[int | None, Any], when: dict[int, float]) -> HostState:
    answered = row.said in ANSWERED
    last = number if answered else (earlier[0] if earlier else None)
    told = about if answered or not earlier else before[earlier[1]]
    problems = json.loads(row.problems) if row.problems else []
    return HostState(
        row.name, about["group"], told["hardware"], row.key, row.said, about["reason"], last,
        None if last is None else when.get(last), tuple(_problem(problem) for problem in problems),
        json.loads(row.outcomes or "{}"), json.loads(row.volatile or "{}"), about["unknown"], told["spec"],
        told["tunecheck"], row.boot_id, row.heard, row.first_audit)


def _problem(stored: dict[str, Any]) -> Problem:
    return Problem(**{**stored, "tags": tuple(stored["tags"])})


def known_hosts(store: Store) -> list[str]:
    with store.db.read() as connection:
        return list(connection.execute(select(host.c.name).where(host.c.retired_audit.is_(None))
                                       .order_by(host.c.name)).scalars())


def find(store: Store, connection: Connection, name: str) -> Row[Any]:
    """The host of that name, or the last one that had it. UsageError with the nearest names."""
    row = connection.execute(select(host).where(host.c.name == name)
                             .order_by(host.c.retired_audit.is_not(None), host.c.last_audit.desc()).limit(1)).first()
    if row is not None:
        return row
    renamed = connection.execute(select(host.c.name).join(identity, identity.c.host_id == host.c.id).where(
        identity.c.kind == "renamed", identity.c.other == name).limit(1)).scalar()
    if renamed is not None:
        raise UsageError(f"there is no host {name!r} any more: it is called {renamed!r} now")
    names = connection.execute(select(host.c.name)).scalars().all()
    near = difflib.get_close_matches(name, names, 3)
    raise UsageError(f"there is no host {name!r} in this history" + (f"; did you mean {', '.join(near)}?" if near else
                     f"; it knows {len(names)} hosts, `tunecheck fleet` lists them"))


def current(store: Store, name: str) -> dict[str, tuple[Any, Since]]:
    with store.db.read() as connection:
        row = find(store, connection, name)
        when = times(store, connection)
        rows = connection.execute(select(span.c.fact_id, span.c.value_id, span.c.from_audit, span.c.after_audit)
                                  .where(span.c.host_id == row.id, span.c.until_audit.is_(None))).all()
        named, told = _words(store, connection, rows)
    return {named[number]: (told[held], since(when, seen, after)) for number, held, seen, after in rows}


def at(store: Store, name: str, audit_id: int) -> dict[str, Any]:
    with store.db.read() as connection:
        row = find(store, connection, name)
        rows = connection.execute(select(span.c.fact_id, span.c.value_id)
                                  .where(span.c.host_id == row.id, during(audit_id))).all()
        named, told = _words(store, connection, rows)
    return {named[number]: told[held] for number, held in rows if told[held] is not None}


def spans(store: Store, name: str, fact_name: str | None, from_time: float | None) -> list[Span]:
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
        named, told = _words(store, connection, rows)
        before = store.interned.decoded(connection, {row.before_id for row in rows})
        runs = _runs(connection, [row.id] if any(not row.baseline for row in rows) else [])
    return [Span(name, named[fact_id], told[value_id], before[before_id], since(when, begun, after), until,
                 None if until is None else when.get(until), baseline,
                 None if baseline else _receipt(runs, row.id, begun))
            for fact_id, value_id, begun, after, until, before_id, baseline in rows]


def changes(store: Store, after_audit: int | None, upto_audit: int | None) -> list[ChangeRow]:
    with store.db.read() as connection:
        when = times(store, connection)
        rows = connection.execute(
            select(span.c.fact_id, span.c.value_id, host.c.id, host.c.name, host.c.grp, host.c.hardware,
                   span.c.before_id, span.c.from_audit, span.c.after_audit).join(host, host.c.id == span.c.host_id)
            .where(*_between(span.c.from_audit, after_audit, upto_audit), span.c.baseline == false())
            .order_by(span.c.from_audit, host.c.name, span.c.fact_id)).all()
        named, told = _words(store, connection, rows)
        before = store.interned.decoded(connection, {row.before_id for row in rows})
        runs = _runs(connection, {row.id for row in rows})
    return [ChangeRow(name, group, hardware, named[number], before[before_id], told[held], since(when, begun, after),
                      _receipt(runs, host_id, begun))
            for number, held, host_id, name, group, hardware, before_id, begun, after in rows]


def diff(store: Store, audit_a: int, audit_b: int) -> list[DiffRow]:
    if audit_a > audit_b:
        return [DiffRow(row.host, row.fact, row.b, row.a) for row in diff(store, audit_b, audit_a)]
    window = (span.c.from_audit > audit_a, span.c.from_audit <= audit_b)
    with store.db.read() as connection:
        changed = connection.execute(
            select(span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id)
            .where(*window, span.c.baseline == false()).order_by(span.c.from_audit)).all()
        anew = {(row[0], row[1]) for row in connection.execute(
            select(span.c.host_id, span.c.fact_id).where(*window, span.c.baseline == true()))} if changed else set()
        pairs: dict[tuple[int, int], tuple[int | None, int]] = {}
        for host_id, number, before_id, held in changed:
            first = pairs.get((host_id, number))
            pairs[host_id, number] = (before_id if first is None else first[0], held)
        rows = [(where, *pair) for where, pair in pairs.items() if pair[0] != pair[1] and where not in anew]
        told = store.interned.decoded(connection, {pair[1] for pair in rows} | {pair[2] for pair in rows})
        named = store.interned.facts(connection)
        hosts_named = dict(iter(connection.execute(select(host.c.id, host.c.name))))
    found = [DiffRow(hosts_named[host_id], named[number], told[a], told[b]) for (host_id, number), a, b in rows
             if told[a] != told[b] or (a is not None and told[a] is not None)]
    found.sort(key=lambda row: row[:2])
    return found


def _between(column: Any, after_audit: int | None, upto_audit: int | None) -> tuple[Any, Any]:
    return column > (after_audit or 0), column <= (_MOST if upto_audit is None else upto_audit)


def _words(store: Store, connection: Connection, rows: Sequence[Any]) -> tuple[dict[int, str], dict[int | None, Any]]:
    """Names and values of rows that begin with fact and value."""
    named = store.interned.names
    if any(row[0] not in named for row in rows):
        named = store.interned.facts(connection)
    return named, store.interned.decoded(connection, {row[1] for row in rows})


def _runs(connection: Connection, host_ids: Iterable[int]) -> dict[int, list[tuple[int, int, Change]]]:
    """host -> runs of our own, as (first told in this audit, last, run)."""
    found: dict[int, list[tuple[int, int, Change]]] = {}
    numbers = list(host_ids)
    for start in range(0, len(numbers), 1000):
        for row in connection.execute(select(journal).where(journal.c.host_id.in_(numbers[start:start + 1000]))):
            found.setdefault(row.host_id, []).append(
                (row.first_audit, row.last_audit, Change(row.run, row.at, row.state)))
    return found


def _receipt(runs: dict[int, list[tuple[int, int, Change]]], host_id: int, seen: int) -> Change | None:
    """The run that the box told of when the change was seen. Audits are compared, not clocks: the box's may be off."""
    return next((run for first, last, run in runs.get(host_id, ()) if first <= seen <= last), None)


def problems_since(store: Store, audit_id: int | None) -> list[ProblemSince]:
    number = audits.head(store, audit_id).id
    return _problems(store, _PROBLEM.where(finding_span.c.from_audit <= number, or_(
        finding_span.c.until_audit.is_(None), finding_span.c.until_audit > number)))


def problems_resolved(store: Store, after_audit: int | None, upto_audit: int | None) -> list[ProblemSince]:
    """A finding that only went from fail to warn has a span that begins where the other ends: it is not resolved."""
    next_one = finding_span.alias()
    goes_on = select(next_one.c.host_id).where(
        next_one.c.host_id == finding_span.c.host_id, next_one.c.finding_id == finding_span.c.finding_id,
        next_one.c.from_audit == finding_span.c.until_audit).exists()
    return _problems(store, _PROBLEM.where(*_between(finding_span.c.until_audit, after_audit, upto_audit), ~goes_on))


_PROBLEM = select(
    host.c.name, host.c.grp, finding.c.check, finding.c.subject, finding_span.c.outcome, finding_span.c.from_audit,
    finding_span.c.after_audit, finding_span.c.until_audit
).join(finding, finding.c.id == finding_span.c.finding_id).join(host, host.c.id == finding_span.c.host_id).order_by(
    host.c.name, finding.c.check, finding.c.subject)


def _problems(store: Store, wanted: Select[Any]) -> list[ProblemSince]:
    with store.db.read() as connection:
        when = times(store, connection)
        return [ProblemSince(name, group, check, subject, outcome, since(when, begun, after), until)
                for name, group, check, subject, outcome, begun, after, until in connection.execute(wanted)]


def newest_document(store: Store, name: str) -> bytes:
    with store.db.read() as connection:
        row = find(store, connection, name)
        content = connection.execute(select(newest.c.document).where(newest.c.host_id == row.id)).scalar()
    if content is None:
        raise UsageError(f"{name}: never answered, so there is no snapshot of it")
    return zstandard.decompress(content)


def timeline(store: Store, last: int | None) -> list[TimelineRow]:
    heads = audits.listed(store, last)
    if not heads:
        return []
    first, end = heads[0].id, heads[-1].id
    with store.db.read() as connection:
        changed: dict[int, int] = dict(iter(connection.execute(
            select(span.c.from_audit, func.count()).where(span.c.from_audit >= first, span.c.baseline == false())
            .group_by(span.c.from_audit))))
        steps: dict[int, int] = {}
        for begun, ended in connection.execute(
                select(snap.c.from_audit, SNAP_END).join(host, host.c.id == snap.c.host_id)
                .where(snap.c.status.in_(ANSWERED), first <= SNAP_END)):
            steps[max(begun, first)] = steps.get(max(begun, first), 0) + 1
            steps[ended + 1] = steps.get(ended + 1, 0) - 1
    answered, running = {}, 0
    for number in range(first, end + 1):
        running += steps.get(number, 0)
        answered[number] = running
    return [TimelineRow(head.id, head.started, changed.get(head.id, 0), answered[head.id]) for head in heads]


def identity_events(store: Store, audit_id: int) -> list[IdentityEvent]:
    with store.db.read() as connection:
        return [IdentityEvent(audit_id, name, kind, other) for name, kind, other in connection.execute(
            select(host.c.name, identity.c.kind, identity.c.other).join(host, host.c.id == identity.c.host_id)
            .where(identity.c.audit_id == audit_id).order_by(host.c.name))]
