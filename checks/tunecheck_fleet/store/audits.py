"""Audits begin, are taken up again where they were killed, and end; one at a time."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, Integer, Row, bindparam, delete, func, insert, select, update

from tunecheck import __version__
from tunecheck.errors import Misuse, UsageError

from ..model import AuditHead
from ..own_command import own_command
from ..scope import fleet_of, without_limit
from .ask_again import forget_silent
from .audit_queries import ANSWERED, there
from .open_history import Open
from .sanitize import canonical, plain
from .schema import audit, host, snap, turn, value
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["beat", "begin", "beside", "finish", "head", "last_with", "let_go", "listed", "open_audit", "pending",
           "previous", "resume", "running"]

#: A holder on another machine cannot be looked up; after this long without a host it counts as gone.
SILENT_S = 900.0
#: How often a holder says that it is there.
BEAT_S = 30.0


def begin(store: OpenHistory, scope: str, asked: Sequence[tuple[str, str]], trigger: Literal["pull", "push"],
          note: str) -> AuditHead:
    now = store.clock()
    names = sorted({(plain(name, 255), plain(group, 255)) for name, group in asked})
    with store.turn, store.db.write() as connection:
        _take(store, connection, trigger, now)
        listed = store.interned.value(connection, canonical(names))
        row: dict[str, Any] = {
            "started": now, "scope": plain(scope, 2000), "asked": len(names), "asked_id": listed,
            "tunecheck": __version__, "catalogue": store.catalogue, "trigger": trigger, "note": plain(note, 2000),
            "rebaselined": False, "pruned": False}
        number = connection.execute(insert(audit).returning(audit.c.id), row).scalar_one()
        _hold(store, connection, trigger, number, now)
        store.open[number] = Open(number, row["catalogue"], frozenset(name for name, _ in names), trigger, now)
    return AuditHead(number, now, row["scope"], len(names), __version__, row["catalogue"], None, trigger, row["note"])


def resume(store: OpenHistory, scope: str, younger_than_s: float) -> AuditHead | None:
    now = store.clock()
    with store.turn, store.db.write() as connection:
        row = connection.execute(
            select(audit).where(audit.c.scope == plain(scope, 2000), audit.c.trigger == "pull",
                                audit.c.pruned.is_(False)).order_by(audit.c.id.desc()).limit(1)).first()
        if (row is None or row.finished is not None or not 0 <= now - row.started < younger_than_s
                or row.catalogue != store.catalogue or _holder(connection, "pull", now) is not None):
            return None
        opened = _opened(connection, row, now)
        # What a later audit has of a host (another --limit, a push) comes after this one: it could not be put any more.
        left = opened.asked - _put(connection, row.id, ANSWERED)
        later = connection.execute(select(host.c.name).where(host.c.retired_audit.is_(None),
                                                             host.c.last_audit > row.id)).scalars()
        if left.intersection(later):
            return None
        forget_silent(connection, row.id)
        _hold(store, connection, "pull", row.id, now)
        store.open[row.id] = opened
        return _head(_NUMBERED(connection, {"number": row.id})[0])


def finish(store: OpenHistory, audit_id: int, settle: Callable[[OpenHistory, Connection, int], None]) -> None:
    """``settle``: finds out which machine has which name (names/settle.py)."""
    with store.turn, store.db.write() as connection:
        connection.execute(update(audit).where(audit.c.id == audit_id, audit.c.finished.is_(None)),
                           {"finished": store.clock()})
        connection.execute(delete(turn).where(turn.c.audit_id == audit_id))
        try:
            settle(store, connection, audit_id)
        except BaseException:
            store.interned.forget()     # numbers given out in what is undone
            raise
        store.open.pop(audit_id, None)


def let_go(store: OpenHistory) -> None:
    """Give every turn of ours back, the audits stay unfinished."""
    if store.open:
        with store.turn, store.db.write() as connection:
            connection.execute(delete(turn).where(turn.c.audit_id.in_(list(store.open))))
            store.open.clear()


_ASKED = Hot(select(value.c.json).join(audit, audit.c.asked_id == value.c.id).where(audit.c.id == bindparam("number")))
_NAMES = Hot(select(host.c.name, snap.c.status).join(snap, snap.c.host_id == host.c.id).where(
    there(bindparam("then"), ())))


def pending(store: OpenHistory, audit_id: int) -> list[tuple[str, str]]:
    with store.db.read() as connection:
        asked = _ASKED(connection, {"number": audit_id})
        done = _put(connection, audit_id)
    if not asked:
        raise _nothing(audit_id)
    return [(name, group) for name, group in json.loads(asked[0][0]) if name not in done]


def _put(connection: Connection, audit_id: int, how: Sequence[str] = ()) -> set[str]:
    """The hosts that have a row in this audit itself (of these states): that a later one has them says nothing about
    this one."""
    return {name for name, status in _NAMES(connection, {"then": audit_id}) if not how or status in how}


def running(store: OpenHistory, audit_id: int) -> float | None:
    """Since when a process that is there writes to this audit; None where none does."""
    with store.db.read() as connection:
        trigger = connection.execute(select(audit.c.trigger).where(audit.c.id == audit_id)).scalar()
        found = _holder(connection, trigger, store.clock()) if trigger is not None else None
    return float(found.since) if found is not None and found.audit_id == audit_id else None


def open_audit(store: OpenHistory, connection: Connection, audit_id: int) -> Open:
    """The audit, for who writes to it. UsageError where there is none or it is finished."""
    if (found := store.open.get(audit_id)) is not None:
        return found
    row = connection.execute(select(audit).where(audit.c.id == audit_id)).first()
    if row is None:
        raise _nothing(audit_id)
    if row.finished is not None:
        raise UsageError(f"audit #{audit_id} is finished; begin another one", Misuse.OVER)
    return _opened(connection, row, store.clock())


_BEAT = update(turn).where(turn.c.name == bindparam("trigger")).values(beat=bindparam("now"))


def beat(store: OpenHistory, connection: Connection, opened: Open) -> None:
    """Now and then: we are still there."""
    now = store.clock()
    if abs(now - opened.beat) >= BEAT_S:
        connection.execute(_BEAT.where(turn.c.audit_id == opened.id), {"trigger": opened.trigger, "now": now})
        opened.beat = now


_HEADS = select(audit.c.id, audit.c.started, audit.c.scope, audit.c.asked, audit.c.tunecheck, audit.c.catalogue,
                audit.c.finished, audit.c.trigger, audit.c.note, audit.c.rebaselined)
_EVERY = _HEADS.where(audit.c.pruned.is_(False)).order_by(audit.c.id.desc())
_ALL, _LAST = Hot(_EVERY), Hot(_EVERY.limit(bindparam("last", type_=Integer)))
#: A finished one before one that runs.
_NEWEST = Hot(_HEADS.where(audit.c.pruned.is_(False)).order_by(audit.c.finished.is_(None), audit.c.id.desc()).limit(1))
_NUMBERED = Hot(_HEADS.where(audit.c.id == bindparam("number")))
_SCOPE = Hot(select(audit.c.scope).where(audit.c.id == bindparam("number")))
_OLDER = _EVERY.where(audit.c.id < bindparam("number"), audit.c.finished.is_not(None))
_BEFORE, _BEFORE_ANY = Hot(_OLDER.where(audit.c.scope == bindparam("of")).limit(1)), Hot(_OLDER)


def listed(store: OpenHistory, last: int | None) -> list[AuditHead]:
    with store.db.read() as connection:
        rows = _ALL(connection) if last is None else _LAST(connection, {"last": last})
    return [_head(row) for row in rows][::-1]


def head(store: OpenHistory, audit_id: int | None) -> AuditHead:
    with store.db.read() as connection:
        rows = _NEWEST(connection) if audit_id is None else _NUMBERED(connection, {"number": audit_id})
    for row in rows:
        return _head(row)
    if audit_id is None:
        raise UsageError(f"{store.where}: holds no audit yet; run: {own_command('audit -i INVENTORY')}", Misuse.EMPTY)
    raise _nothing(audit_id)


def previous(store: OpenHistory, audit_id: int) -> AuditHead | None:
    with store.db.read() as connection:
        scope = next((scope for scope, in _SCOPE(connection, {"number": audit_id})), "")
        rows = _BEFORE(connection, {"number": audit_id, "of": scope})
        if not rows and (older := _BEFORE_ANY(connection, {"number": audit_id})):
            asked = _put(connection, audit_id)
            rows = [*islice((row for row in older if asked & _put(connection, row[0])), 1)]
    return _head(rows[0]) if rows else None


def last_with(store: OpenHistory, name: str) -> int | None:
    ended = func.coalesce(snap.c.to_audit, host.c.last_audit)
    with store.db.read() as connection:
        return connection.execute(
            select(func.max(audit.c.id)).select_from(host).join(snap, snap.c.host_id == host.c.id)
            .join(audit, (snap.c.from_audit <= audit.c.id) & (audit.c.id <= ended))
            .where(host.c.name == name, host.c.retired_audit.is_(None), audit.c.finished.is_not(None),
                   audit.c.pruned.is_(False))).scalar()


def beside(store: OpenHistory, audit_id: int) -> dict[int, int | None]:
    """The earlier audits of the same inventory that heard hosts which ``audit_id``, the newest one of it, did not ask,
    each with the audit that it is compared with: what they heard still stands. Empty where it is not that.

    An audit without a limit asks every host of the inventory: whoever was heard only before it is not in it any more.
    Where there is none, that is known of each limit by itself. One that was cut off, or was pruned, has heard its hosts
    all the same."""
    with store.db.read() as connection:
        rows = connection.execute(select(audit.c.id, audit.c.scope, audit.c.finished).order_by(audit.c.id)).all()
    own = next((fleet_of(scope) for number, scope, _ in rows if number == audit_id), None)
    rows = [row for row in rows if fleet_of(row.scope) == own]
    done = {row.scope: row.id for row in rows if row.finished is not None}
    if not done or max(done.values()) != audit_id:
        return {}
    whole = max((number for scope, number in done.items() if without_limit(scope) == scope), default=None)
    first = done if whole is None else dict.fromkeys(done, whole)
    numbers = [row.id for row in rows if first.get(row.scope, 0) <= row.id < audit_id]
    before = {number: previous(store, number) for number in numbers}
    return {number: head.id if head is not None else None for number, head in before.items()}


def _nothing(audit_id: int) -> UsageError:
    return UsageError(f"there is no audit #{audit_id} in this history; `{own_command('fleet')}` names the newest",
                      Misuse.NO_SUCH)


def _head(row: Sequence[Any]) -> AuditHead:
    """Of a row of _HEADS."""
    number, started, scope, asked, version, catalogue, finished, trigger, note, rebaselined = row
    return AuditHead(number, started, scope, asked, version, catalogue, finished,
                     "push" if trigger == "push" else "pull", note, bool(rebaselined))


def _opened(connection: Connection, row: Row[Any], now: float) -> Open:
    names = json.loads(connection.execute(select(value.c.json).where(value.c.id == row.asked_id)).scalar_one())
    return Open(row.id, row.catalogue, frozenset(name for name, _ in names), row.trigger, now)


# -- whose turn it is -------------------------------------------------------------------------------------------------

def _take(store: OpenHistory, connection: Connection, trigger: str, now: float) -> None:
    holder = _holder(connection, trigger, now)
    if holder is not None:
        since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        raise UsageError(f"audit #{holder.audit_id} is running: process {holder.pid} on {holder.node} since {since}; "
                         "wait for it, or end that process", Misuse.IN_USE)


def _holder(connection: Connection, trigger: str, now: float) -> Row[Any] | None:
    """Who has the turn and is alive."""
    row = connection.execute(select(turn).where(turn.c.name == trigger)).first()
    if row is None:
        return None
    if row.node != _node():
        return row if abs(now - row.beat) < SILENT_S else None
    return row if _ticks(row.pid) == row.ticks else None


def _hold(store: OpenHistory, connection: Connection, trigger: str, audit_id: int, now: float) -> None:
    connection.execute(delete(turn).where(turn.c.name == trigger))
    connection.execute(insert(turn), {"name": trigger, "audit_id": audit_id, "node": _node(), "pid": os.getpid(),
                                      "ticks": _ticks(os.getpid()), "since": now, "beat": now})


def _node() -> str:
    """This boot of this machine: after a reboot no process of before is alive."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        boot = ""
    return plain(f"{socket.gethostname()} ({boot})" if boot else socket.gethostname(), 255)


def _ticks(pid: int) -> int:
    """When the process began, in clock ticks since boot, which tells it from a later one with its number; -1: there is
    no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return -1 if fields[0] in "ZX" else int(fields[19])
    except (OSError, ValueError, IndexError):
        return -1

