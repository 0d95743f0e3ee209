"""Who is in an audit, and what every host said last."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import zstandard
from sqlalchemy import Connection, Row, null, or_, select, true

from tunecheck.errors import Misuse, UsageError
from tunecheck.model.command import Command
from tunecheck.util.suggestions import did_you_mean, nearest

from ..model import Problem
from ..own_command import own_command
from . import audits
from .audit_queries import ANSWERED, SNAP_END, earlier_names, parts, since, there, times
from .claims import last_answered
from .rows import HostState, IdentityEvent, Span
from .schema import host, identity, incident, newest, snap

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["find", "hosts", "identity_events", "known_hosts", "newest_document",
           "presence"]


_HOST = select(host.c.id, host.c.name, host.c.key, host.c.claimed, host.c.first_audit, host.c.last_audit,
               snap.c.status.label("answer"), snap.c.about_id.label("about")).join(snap, snap.c.host_id == host.c.id)
_TOLD = _HOST.add_columns(
    newest.c.audit_id.label("newest_audit"), newest.c.boot_id, newest.c.volatile, newest.c.problems, newest.c.outcomes
).join(newest, newest.c.host_id == host.c.id, isouter=True)
_HEADS = select(host.c.id, snap.c.status.label("answer"), snap.c.about_id.label("about")).join(
    snap, snap.c.host_id == host.c.id)
_ROWS = 200
#: Without what its newest answer told.
_BARE = _HOST.add_columns(
    host.c.answered_audit.label("newest_audit"), *(null().label(name) for name in (
        "boot_id", "volatile", "problems", "outcomes")))


def hosts(store: OpenHistory, audit_id: int | None, also: Collection[int] = (),
          only: Collection[str] | None = None, bare: bool = False) -> list[HostState]:
    """``only``: these hosts. ``bare``: without what they told in their newest answer."""
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        when = times(store, connection)
        called = earlier_names(connection, number)
        each: list[Any] = [host.c.name.in_(part) for part in parts(only)] if only is not None else [true()]
        if only is not None and (those := [each_id for each_id, name in called.items() if name in only]):
            each.append(host.c.id.in_(those) & host.c.name.not_in(list(only)))
        heads = [row for some in each for row in connection.execute(
            _HEADS.where(there(number, also), some).order_by(host.c.name, host.c.id))]
        abouts = store.interned.decoded(connection, {row.about for row in heads})
        silent = [row.id for row in heads if row.answer not in ANSWERED]
        earlier = {row[0]: row[1:] for row in _last_answers(connection, silent, number)}
        before = store.interned.decoded(connection, {about for _, about in earlier.values()})
        # A few at a time: of a host with 40 findings the texts here are twice as large as what is made of them.
        problems = _Problems()
        found = [_state(row, called.get(row.id, row.name), abouts[row.about], number, earlier.get(row.id), before, when,
                        problems) for some in each for row in connection.execute(
                    (_BARE if bare else _TOLD).where(there(number, also), some).order_by(host.c.name, host.c.id),
                    execution_options={"yield_per": _ROWS}) if only is None or called.get(row.id, row.name) in only]
    return sorted(found, key=lambda state: state.host) if called else found


def _last_answers(connection: Connection, host_ids: Sequence[int], number: int) -> list[tuple[int, int, int]]:
    """(host, its last audit up to ``number`` with an answer, what it reported about itself there)."""
    found: dict[int, tuple[int, int, int]] = {}
    for start in range(0, len(host_ids), 1000):
        wanted = (select(snap.c.host_id, SNAP_END, snap.c.about_id).join(host, host.c.id == snap.c.host_id)
                  .where(snap.c.host_id.in_(host_ids[start:start + 1000]), snap.c.status.in_(ANSWERED),
                         snap.c.from_audit <= number).order_by(snap.c.from_audit))
        found.update((number_, (number_, ended, about)) for number_, ended, about in connection.execute(wanted))
    return list(found.values())


def _state(row: Row[Any], name: str, about: dict[str, Any], number: int, earlier: Sequence[int] | None,
           before: dict[int | None, Any], when: dict[int, float], problems: _Problems) -> HostState:
    answered = row.answer in ANSWERED
    last = min(number, row.last_audit) if answered else (earlier[0] if earlier else None)
    described = about if answered or not earlier else before[earlier[1]]
    outcomes, volatile = (json.loads(text) if text else {} for text in (row.outcomes, row.volatile))
    return HostState(
        name, about["group"], described["hardware"], row.key, row.answer, about["reason"], last,
        None if last is None else when.get(last), problems.read(row.problems),
        outcomes, volatile, about["unknown"], described["spec"],
        described["tunecheck"], row.boot_id, row.newest_audit, row.first_audit,
        row.claimed, frozenset(described.get("unasked", ())))


class _Problems:
    """Reads the problems of many hosts. Most tell the same ones: each text and each command is there once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._commands: dict[tuple[str, ...], Command] = {}

    def read(self, text: str | None) -> tuple[Problem, ...]:
        return tuple(self._problem(stored) for stored in json.loads(text)) if text else ()

    def _problem(self, stored: dict[str, Any]) -> Problem:
        once = self._texts.setdefault
        plain: dict[str, Any] = {name: once(value, value) if type(value) is str else value
                                 for name, value in stored.items()}
        # A store from before remedies had commands holds none.
        commands = tuple(self._command(tuple(each["argv"]), each["where"]) for each in stored.get("commands", ()))
        return Problem(**{**plain, "tags": tuple(stored["tags"]), "commands": commands})

    def _command(self, argv: tuple[str, ...], where: Any) -> Command:
        key = (where, *argv)
        if (found := self._commands.get(key)) is None:
            found = self._commands[key] = Command(argv, where)
        return found


def known_hosts(store: OpenHistory) -> list[str]:
    with store.db.read() as connection:
        return list(connection.execute(select(host.c.name).where(host.c.retired_audit.is_(None))
                                       .order_by(host.c.name)).scalars())


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


def identity_events(store: OpenHistory, audit_id: int | None, upto: int | None = None) -> list[IdentityEvent]:
    """Of one audit, or of all up to one."""
    wanted = (select(host.c.id, host.c.name, host.c.key, identity.c.kind, identity.c.other, identity.c.audit_id)
              .join(host, host.c.id == identity.c.host_id).order_by(identity.c.audit_id, host.c.name))
    wanted = wanted.where(identity.c.audit_id == audit_id) if upto is None else wanted.where(
        identity.c.audit_id <= upto, or_(host.c.retired_audit.is_(None), host.c.retired_audit > upto))
    with store.db.read() as connection:
        when = times(store, connection)
        rows = connection.execute(wanted).all()
        return [_replaced(connection, when, row.audit_id, row.name, row.key) if row.kind == "replaced"
                else IdentityEvent(row.audit_id, row.name, row.kind, row.other, since=since(
                    when, row.audit_id, last_answered(connection, [row.id], row.audit_id))) for row in rows]


def _replaced(connection: Connection, when: dict[int, float], audit_id: int, name: str,
              key: str | None) -> IdentityEvent:
    """With the machine that had the name until then."""
    before = connection.execute(select(host.c.id, host.c.key).where(
        host.c.name == name, host.c.retired_audit == audit_id, host.c.key.is_not(None)).limit(1)).first()
    if before is None:
        return IdentityEvent(audit_id, name, "replaced")
    return IdentityEvent(audit_id, name, "replaced", "", before.key, key,
                         since(when, audit_id, last_answered(connection, [before.id], audit_id)))


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
        snaps = connection.execute(select(snap.c.from_audit, snap.c.status).where(snap.c.host_id.in_(those))
                                   .order_by(snap.c.from_audit)).all()
        noted = connection.execute(select(
            identity.c.audit_id, identity.c.other, identity.c.kind, identity.c.host_id).where(
            identity.c.host_id.in_(those), identity.c.kind != "duplicate").order_by(identity.c.audit_id)).all()
        incidents = [(number, json.loads(told)) for number, told in connection.execute(
            select(incident.c.first_audit, incident.c.told).where(incident.c.host_id == row.id))]
        renamed = [(each.audit_id, each.other) for each in noted if each.kind == "renamed" and each.host_id == row.id]
        replaced = [_replaced(connection, when, each.audit_id, name, named[each.host_id].key) for each in noted
                    if each.kind == "replaced"]
    found: list[Span] = []
    answers: list[tuple[int, str]] = []
    for begun, status in snaps:
        if not answers or answers[-1][1] != status:       # what it reports about itself may change without that
            answers.append((begun, status))
    for at, (begun, status) in enumerate(answers):
        until = answers[at + 1][0] if at + 1 < len(answers) else None
        before = answers[at - 1] if at else None
        found.append(Span(name, "host.answer", status, before[1] if before else None,
                          since(when, begun, None if before is None else begun - 1), until,
                          None if until is None else when.get(until), before is None))
    for at, (begun, other) in enumerate(renamed):
        called = renamed[at + 1][1] if at + 1 < len(renamed) else row.name
        found.append(Span(name, "host.name", called, other, since(when, begun, begun - 1)))
    found += [Span(name, "host.key", each.key, each.before, each.since) for each in replaced if each.since is not None]
    incidents.sort(key=lambda each: (each[0], each[1]["begun"] or 0.0, each[1]["id"]))
    found += [Span(name, "host.incident", told, None, since(when, number, number - 1 or None))
              for number, told in incidents]
    return sorted(found, key=lambda span: span.since.seen)
