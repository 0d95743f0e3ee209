"""Who is in an audit, and what every host said last."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard
from sqlalchemy import Connection, Row, bindparam, or_, select, true

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.suggestions import did_you_mean, nearest

from ..own_command import own_command
from . import audits, told_problems
from .audit_queries import ANSWERED, SNAP_END, earlier_names, heard_late, last_answers, parts, since, there, times
from .claims import last_answered
from .groups import group_moves
from .rows import HostState, IdentityEvent, Span
from .schema import host, identity, incident, newest, snap
from .sql.compiled_statements import Hot
from .sql.within import within
from .told import NOTHING, Answered, Newest, Told

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["find", "hosts", "identity_events", "known_hosts", "names", "newest_document", "presence"]


_HOST = select(
    host.c.id, host.c.name, host.c.key, host.c.claimed, host.c.first_audit, host.c.last_audit, host.c.answered_audit,
    snap.c.status, snap.c.about_id).join(snap, snap.c.host_id == host.c.id)
#: Of one audit alone: as ten thousand hosts are read most often.
_HOSTS = Hot(_HOST.where(there(bindparam("then"), ())).order_by(host.c.name, host.c.id))
_THOSE = Hot(_HOST.where(there(bindparam("then"), ()), or_(within(host.c.name, "names"), within(host.c.id, "hosts")))
             .order_by(host.c.name, host.c.id))
_NAMED = select(host.c.id, host.c.name, snap.c.status).join(snap, snap.c.host_id == host.c.id)
_NAMES = Hot(_NAMED.where(there(bindparam("then"), ())))
_KNOWN = Hot(select(host.c.name).where(host.c.retired_audit.is_(None)).order_by(host.c.name))
_EVENTS = (select(host.c.id, host.c.name, host.c.key, identity.c.kind, identity.c.other, identity.c.audit_id)
           .join(host, host.c.id == identity.c.host_id).order_by(identity.c.audit_id, host.c.name))
_OF_KIND = {mended: _EVENTS.where(identity.c.kind == "mended" if mended else identity.c.kind != "mended")
            for mended in (False, True)}
_EVENTS_OF = {mended: Hot(each.where(identity.c.audit_id == bindparam("then"))) for mended, each in _OF_KIND.items()}
_EVENTS_UPTO = {mended: Hot(each.where(identity.c.audit_id <= bindparam("then"), or_(
    host.c.retired_audit.is_(None), host.c.retired_audit > bindparam("then")))) for mended, each in _OF_KIND.items()}
_BEFORE = Hot(select(host.c.id, host.c.key).where(
    host.c.name == bindparam("name"), host.c.retired_audit == bindparam("ended"), host.c.key.is_not(None)))
_TOLD = Hot(select(newest.c.host_id, newest.c.audit_id, newest.c.boot_id, newest.c.volatile, newest.c.problems,
                   newest.c.outcomes).where(within(newest.c.host_id, "hosts")))
#: Hosts whose newest answers are read at a time: a host with 40 findings has 20 KiB of text there, of which hardly
#: anything is left once it is understood.
_AT_ONCE = 200


class _Head(NamedTuple):
    """A row of _HOST."""

    id: int
    name: str
    key: str | None
    claimed: str | None
    first_audit: int
    last_audit: int
    answered_audit: int | None
    answer: Any
    about: int


class _Itself(NamedTuple):
    """What hosts say about themselves: now, and where they are silent in their last answer."""

    group: str
    reason: str
    unknown: Mapping[str, str]
    hardware: str
    spec: str | None
    tunecheck: str
    unasked: frozenset[str]
    dark: Mapping[str, tuple[str, str]]
    untold: frozenset[str]
    skipped: Mapping[str, str]
    reported: frozenset[str]

    @classmethod
    def of(cls, now: Mapping[str, Any], answer: Mapping[str, Any]) -> _Itself:
        untold = frozenset(answer.get("checks", ()))
        return cls(now["group"], now["reason"], now["unknown"], answer["hardware"], answer["spec"],
                   answer["tunecheck"], frozenset(answer.get("unasked", ())),
                   {**dict.fromkeys(sorted(untold), ("", "")), **answer.get("dark", {})}, untold,
                   answer.get("skipped", {}), frozenset(now.get("told", ())))


def hosts(store: OpenHistory, audit_id: int | None, also: Collection[int] = (),
          only: Collection[str] | None = None, bare: bool = False,
          gauges: Collection[str] | None = None) -> list[HostState]:
    """``only``: these hosts. ``bare``: without what they told in their newest answer. ``gauges``: of their volatile
    facts no more than these."""
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        when = times(store, connection)
        called = earlier_names(connection, number)
        heads = _heads(connection, number, also, only, called)
        if called:
            heads = sorted((row._replace(name=called.get(row.id, row.name)) for row in heads), key=lambda row: row.name)
            heads = [row for row in heads if only is None or row.name in only]
        abouts = store.interned.decoded(connection, {row.about for row in heads})
        late = heard_late(connection)
        heads = [row._replace(first_audit=late[row.id]) if row.id in late else row for row in heads] if late else heads
        silent = [row.id for row in heads if row.answer not in ANSWERED]
        earlier = {row[0]: row[1:] for row in last_answers(connection, silent, number)}
        before = store.interned.decoded(connection, {about for _, about in earlier.values()})
        # Most hosts say the same of themselves.
        of_itself = cache(lambda about, answer: _Itself.of(abouts[about], abouts[about] if answer is None
                                                           else before[answer]))
        told = Told(gauges)
        found = []
        # Some at a time, by number: to sort them all, a database has all their texts in memory at once.
        for start in range(0, len(heads), _AT_ONCE):
            part = heads[start:start + _AT_ONCE]
            named = {row.id: row.name for row in part}
            answers = {} if bare else {row[0]: told.read(named[row[0]], Newest(*row)) for row in _TOLD(
                connection, {"hosts": named})}
            later = {each: named[each] for each, answer in answers.items() if (answer.audit or 0) > number}
            then = told_problems.read(store, connection, told, later, number) if later and not also else {}
            for row in part:
                answer = Answered(row.answered_audit, None, (), {}, {}) if bare else answers.get(row.id, NOTHING)
                answer = answer._replace(problems=then[row.id]) if row.id in then else answer
                last = earlier.get(row.id)
                found.append(_state(row, of_itself(row.about, last[1] if last is not None else None), answer,
                                    last[0] if last is not None else None, number, when, row.id in then))
        return found


def _heads(connection: Connection, number: int, also: Collection[int], only: Collection[str] | None,
           called: Mapping[int, str]) -> list[_Head]:
    if only is None and not also:
        # Of SQLAlchemy's own rows ten thousand take 20 ms more to read.
        return list(map(_Head._make, _HOSTS(connection, {"then": number})))
    if only is not None and not also:
        those = [each_id for each_id, name in called.items() if name in only]
        return list(map(_Head._make, _THOSE(connection, {"then": number, "names": list(only), "hosts": those})))
    each: list[Any] = [host.c.name.in_(part) for part in parts(only)] if only is not None else [true()]
    if only is not None and (those := [each_id for each_id, name in called.items() if name in only]):
        each.append(host.c.id.in_(those) & host.c.name.not_in(list(only)))
    return [_Head(*row) for some in each for row in connection.execute(
        _HOST.where(there(number, also), some).order_by(host.c.name, host.c.id)).all()]


def _state(row: _Head, itself: _Itself, answer: Answered, earlier: int | None, number: int,
           when: dict[int, float], kept: bool) -> HostState:
    """``earlier``: of a silent host the audit that it answered last. ``kept``: as in HostState."""
    last = min(number, row.last_audit) if row.answer in ANSWERED else earlier
    return HostState(
        row.name, itself.group, itself.hardware, row.key, row.answer, itself.reason, last,
        None if last is None else when.get(last), answer.problems, answer.outcomes, answer.volatile, itself.unknown,
        itself.spec, itself.tunecheck, answer.boot_id, answer.audit, row.first_audit, row.claimed, itself.unasked,
        itself.dark, kept, itself.untold, itself.skipped, itself.reported)


def names(store: OpenHistory, audit_id: int, also: Collection[int] = (), answered: bool = False) -> set[str]:
    """As hosts(), their names alone; with ``answered`` of those that did."""
    with store.db.read() as connection:
        called = earlier_names(connection, audit_id)
        rows = _NAMES(connection, {"then": audit_id}) if not also else connection.execute(
            _NAMED.where(there(audit_id, also))).all()
        return {called.get(number, name) for number, name, status in rows if not answered or status in ANSWERED}


def known_hosts(store: OpenHistory) -> list[str]:
    with store.db.read() as connection:
        return [name for name, in _KNOWN(connection)]


def find(store: OpenHistory, connection: Connection, name: str) -> Row[Any]:
    """The host of that name, or the last one that had it. UsageError with the nearest names."""
    row = connection.execute(select(host).where(host.c.name == name)
                             .order_by(host.c.retired_audit.is_not(None), host.c.last_audit.desc()).limit(1)).first()
    if row is not None:
        return row
    renamed = connection.execute(select(host.c.name).join(identity, identity.c.host_id == host.c.id).where(
        identity.c.kind == "renamed", identity.c.other == name).limit(1)).scalar()
    if renamed is not None:
        raise UsageError(f"there is no host {name!r} any more: it is called {renamed!r} now", Misuse.NO_SUCH)
    names = connection.execute(select(host.c.name)).scalars().all()
    near = nearest(name, names, 3)
    raise UsageError(f"there is no host {name!r} in this history" + (f"; {did_you_mean(near, ', ')}" if near else
                     f"; it knows {len(names)} hosts, `{own_command('fleet hosts')}` lists them"), Misuse.NO_SUCH)


def newest_document(store: OpenHistory, name: str) -> bytes:
    with store.db.read() as connection:
        row = find(store, connection, name)
        content = connection.execute(select(newest.c.document).where(newest.c.host_id == row.id)).scalar()
    if content is None:
        raise UsageError(f"{name}: never answered, so there is no snapshot of it", Misuse.EMPTY)
    return zstandard.decompress(content)


def identity_events(store: OpenHistory, audit_id: int | None, upto: int | None = None,
                    mended: bool = False) -> list[IdentityEvent]:
    """Of one audit, or of all up to one. Hosts have the names that they had there. ``mended``: who got a key of its
    own, in place of who is not who it was."""
    number, wanted = (audit_id, _EVENTS_OF) if upto is None else (upto, _EVENTS_UPTO)
    with store.db.read() as connection:
        rows = wanted[mended](connection, {"then": number})
        if not rows:
            return []
        when = times(store, connection)
        called = earlier_names(connection, number) if number is not None else {}
        found = [_replaced(connection, when, audit, called.get(host_id, name), key) if kind == "replaced"
                 else IdentityEvent(audit, called.get(host_id, name), kind, other, since=since(
                     when, audit, last_answered(connection, [host_id], audit)))
                 for host_id, name, key, kind, other, audit in rows]
    return sorted(found, key=lambda event: (event.audit, event.host))


def _replaced(connection: Connection, when: dict[int, float], audit_id: int, name: str,
              key: str | None) -> IdentityEvent:
    """With the machine that had the name until then."""
    before = _BEFORE(connection, {"name": name, "ended": audit_id})
    if not before:
        return IdentityEvent(audit_id, name, "replaced")
    host_id, key_before = before[0]
    return IdentityEvent(audit_id, name, "replaced", "", key_before, key,
                         since(when, audit_id, last_answered(connection, [host_id], audit_id)))


def presence(store: OpenHistory, name: str) -> list[Span]:
    """Since when the host answered in which way, what it was called, and which machine it is: spans of facts of their
    own. So are the incidents of what it serves, which begin in the audit that first heard of them."""
    with store.db.read() as connection:
        row = find(store, connection, name)
        when = times(store, connection)
        # The machines that had the name before: their silent nights are the host's, too.
        named = {each.id: each for each in connection.execute(select(host).where(host.c.name == name))}
        ends = set(connection.execute(select(identity.c.audit_id).where(
            identity.c.kind == "replaced", identity.c.host_id.in_(list(named)))).scalars())
        those = [row.id, *(each.id for each in named.values() if each.id != row.id and each.retired_audit in ends)]
        snaps = connection.execute(
            select(snap.c.from_audit, snap.c.status, SNAP_END, snap.c.about_id).join(
                host, host.c.id == snap.c.host_id).where(snap.c.host_id.in_(those)).order_by(snap.c.from_audit)).all()
        grouped = group_moves.stays(store, connection, [(each.from_audit, each.about_id) for each in snaps])
        noted = connection.execute(select(
            identity.c.audit_id, identity.c.other, identity.c.kind, identity.c.host_id).where(
            identity.c.host_id.in_(those), identity.c.kind != "duplicate").order_by(identity.c.audit_id)).all()
        incidents = [(number, json.loads(told)) for number, told in connection.execute(
            select(incident.c.first_audit, incident.c.told).where(incident.c.host_id == row.id))]
        renamed = [(each.audit_id, each.other) for each in noted if each.kind == "renamed" and each.host_id == row.id]
        replaced = [_replaced(connection, when, each.audit_id, name, named[each.host_id].key) for each in noted
                    if each.kind == "replaced"]
    def asked_before(number: int) -> int | None:
        """The last audit before that one that asked the host: one with another limit knows nothing of it."""
        return max((min(end, number - 1) for begun, _, end, _ in snaps if begun < number), default=None)

    found: list[Span] = []
    answers: list[tuple[int, str]] = []
    for begun, status, _, _ in snaps:
        if not answers or answers[-1][1] != status:       # what it reports about itself may change without that
            answers.append((begun, status))
    for at, (begun, status) in enumerate(answers):
        until = answers[at + 1][0] if at + 1 < len(answers) else None
        before = answers[at - 1] if at else None
        found.append(Span(name, "host.answer", status, before[1] if before else None,
                          since(when, begun, None if before is None else asked_before(begun)), until,
                          None if until is None else when.get(until), before is None))
    for at, (begun, other) in enumerate(renamed):
        until, called = renamed[at + 1] if at + 1 < len(renamed) else (None, row.name)
        found.append(Span(name, "host.name", called, other, since(when, begun, asked_before(begun)), until,
                          None if until is None else when.get(until)))
    for at, (begun, group, other) in enumerate(grouped):
        until = grouped[at + 1][0] if at + 1 < len(grouped) else None
        after = None if at == 0 else asked_before(begun)
        found.append(Span(name, "host.group", group, other, since(when, begun, after), until,
                          None if until is None else when.get(until), at == 0))
    found += [Span(name, "host.key", each.key, each.before, each.since) for each in replaced if each.since is not None]
    incidents.sort(key=lambda each: (each[0], each[1]["begun"] or 0.0, each[1]["id"]))
    found += [Span(name, "host.incident", told, None, since(when, number, asked_before(number)))
              for number, told in incidents]
    return sorted(found, key=lambda span: span.since.seen)
