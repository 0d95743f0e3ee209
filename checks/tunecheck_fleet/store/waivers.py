"""What is not counted, by whose word, and until when."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from tunecheck.errors import Misuse, UsageError

from ..own_command import own_command
from .rows import Waiver
from .sanitize import canonical, plain
from .schema import waiver
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["listed", "matched", "unwaive", "waive"]


#: Most histories have none.
_ANY = Hot(select(waiver.c.id).limit(1))


def listed(store: OpenHistory, expired: bool) -> list[Waiver]:
    with store.db.read() as connection:
        if not _ANY(connection):
            return []
        wanted = select(waiver).order_by(waiver.c.id)
        if not expired:
            wanted = wanted.where(or_(waiver.c.until.is_(None), waiver.c.until > store.clock()))
        return [_waiver(row) for row in connection.execute(wanted)]


def waive(store: OpenHistory, fact: str, *, reason: str, author: str, until: float | None, host: str | None,
          group: str | None, value: str | None, kind: Literal["waive", "accept"]) -> Waiver:
    for what, text in (("fact", fact), ("reason", reason), ("author", author)):
        if not text.strip():
            raise UsageError(f"a waiver needs a {what}", Misuse.LEFT_OUT)
    now = store.clock()
    if until is None and kind == "waive":
        raise UsageError("a waiver needs an end; to take a state as it is for good, accept it", Misuse.LEFT_OUT)
    if until is not None and not now < until < 1e11:
        raise UsageError(f"the waiver's end {_day(until)} is over already; name a later day", Misuse.PASSED)
    if value is not None:
        try:
            value = canonical(json.loads(value))
        except (ValueError, RecursionError):
            raise UsageError(f"the waived value {value[:100]!r} is no JSON; text needs quotes, absence is null",
                             Misuse.MALFORMED) from None
    row: dict[str, Any] = {
        "kind": kind, "fact": plain(fact.strip(), 300), "host": None if host is None else plain(host, 255),
        "grp": None if group is None else plain(group, 255), "value": value, "until": until,
        "reason": plain(reason.strip(), 2000), "author": plain(author.strip(), 300), "created": now}
    same = [waiver.c[name].is_(None) if row[name] is None else waiver.c[name] == row[name]
            for name in ("fact", "host", "grp", "value")]
    with store.turn, store.db.write() as connection:
        there = connection.execute(select(waiver).where(*same, or_(waiver.c.until.is_(None), waiver.c.until > now))
                                   ).first()
        if there is not None:
            end = "for good" if there.until is None else f"until {_day(there.until)}"
            raise UsageError(f"waiver {there.id} says that already, {end}, by {there.author}: {there.reason[:120]}; to "
                             f"change it, take it away first: {own_command('waive --end {id}', id=there.id)}",
                             Misuse.ALREADY)
        return _waiver(connection.execute(insert(waiver).returning(waiver), row).one())


def unwaive(store: OpenHistory, waiver_ids: Iterable[int]) -> list[Waiver]:
    """All of them or none."""
    with store.turn, store.db.write() as connection:
        return [_taken(connection, number) for number in sorted(set(waiver_ids))]


def _taken(connection: Connection, number: int) -> Waiver:
    row = connection.execute(delete(waiver).where(waiver.c.id == number).returning(waiver)).first()
    if row is None:
        raise UsageError(f"there is no waiver {number}; `{own_command('waive --list')}` shows them", Misuse.NO_SUCH)
    return _waiver(row)


def matched(store: OpenHistory, waiver_ids: Iterable[int], audit_id: int) -> None:
    numbers = list(waiver_ids)
    if numbers:
        with store.turn, store.db.write() as connection:
            connection.execute(update(waiver).where(waiver.c.id.in_(numbers), or_(
                waiver.c.last_matched.is_(None), waiver.c.last_matched < audit_id)).values(last_matched=audit_id))


def _waiver(row: Row[Any]) -> Waiver:
    return Waiver(row.id, row.fact, row.host, row.grp, row.value, row.until, row.reason, row.author, row.created,
                  row.last_matched, row.kind)


def _day(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return repr(at)
