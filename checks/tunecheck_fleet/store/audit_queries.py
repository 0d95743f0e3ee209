"""Audits as moments: when they were, who answered in them, and what held then."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, bindparam, exists, func, or_, select

from ..fleet_report import Since
from .schema import audit, host, identity, snap, span
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["ANSWERED", "ANSWERS_UPTO", "END", "HAS_ANSWERED", "SNAP_END", "between", "during", "earlier_names",
           "elsewhere", "heard_late", "last_answers", "parts", "since", "there", "times"]

ANSWERED = ("ok", "partial")
HAS_ANSWERED = or_(*(snap.c.status == each for each in ANSWERED))
#: A snap's end: its own, or as long as its host is heard of in the same way.
SNAP_END = func.coalesce(snap.c.to_audit, host.c.last_audit)
#: After every audit.
END = 2**31 - 1
#: A statement takes only so many parameters.
_PART = 1000
_Each = TypeVar("_Each", int, str)
# What every report asks many times.
_TIMES = Hot(select(audit.c.id, audit.c.started).where(audit.c.id > bindparam("last")).order_by(audit.c.id))
_EARLIER_NAMES = Hot(
    select(identity.c.host_id, identity.c.other).join(host, host.c.id == identity.c.host_id)
    .where(identity.c.kind == "renamed", identity.c.audit_id > bindparam("then"), host.c.claimed.is_(None))
    .order_by(identity.c.audit_id, identity.c.id))
_RENAMED = Hot(select(host.c.id, host.c.name).where(
    host.c.id.in_(select(identity.c.host_id).where(identity.c.kind == "renamed"))))


def times(store: OpenHistory, connection: Connection) -> dict[int, float]:
    """Audit -> when it began."""
    last = next(reversed(store.times), 0)
    store.times.update(_TIMES(connection, {"last": last}))
    return store.times


def earlier_names(connection: Connection, number: int) -> dict[int, str]:
    """What hosts were called in that audit, of those that were renamed in a later one. Not of one that only claims the
    key of a machine (claims.py): it had no other name."""
    found: dict[int, str] = {}
    for host_id, other in _EARLIER_NAMES(connection, {"then": number}):
        found.setdefault(host_id, other)
    return found


def elsewhere(connection: Connection, number: int) -> set[int]:
    """Hosts that were renamed once, and of which another one holds what the machine told in that audit under that name:
    nobody knew yet that it is this one (claims.py)."""
    every = _RENAMED(connection)
    if not every:
        return set()
    renamed = select(identity.c.host_id).where(identity.c.kind == "renamed")
    here = set(connection.execute(select(snap.c.host_id).join(host, host.c.id == snap.c.host_id).where(
        snap.c.host_id.in_(renamed), there(number, ()))).scalars())
    rest = {each: name for each, name in every if each not in here}
    if not rest:
        return set()
    called = earlier_names(connection, number)
    rest = {each: called.get(each, name) for each, name in rest.items()}
    names = {called[each] for each in here if each in called}
    for part in parts(set(rest.values())):
        names.update(name for each, name in connection.execute(
            select(host.c.id, host.c.name).join(snap, snap.c.host_id == host.c.id).where(
                host.c.name.in_(part), there(number, ()))) if each not in called)
    return {each for each, name in rest.items() if name in names}


def since(when: dict[int, float], seen: int, after: int | None) -> Since:
    return Since(seen, when.get(seen, 0.0), after, None if after is None else when.get(after))


def there(number: Any, also: Collection[int]) -> Any:
    """Snaps of that audit, and of hosts that were last heard before it in one of ``also``."""
    own = (snap.c.from_audit <= number) & (number <= SNAP_END)
    later = snap.alias()
    # An audit that is running has heard some of them again.
    last = ~exists().where(later.c.host_id == snap.c.host_id, later.c.from_audit > snap.c.from_audit,
                           later.c.from_audit <= number)
    return own if not also else or_(own, (snap.c.from_audit <= number) & SNAP_END.in_(sorted(also)) & last
                                    & host.c.retired_audit.is_(None))


#: Their answers up to an audit: host, last audit, what it reported about itself; the oldest first.
ANSWERS_UPTO = Hot(
    select(snap.c.host_id, SNAP_END, snap.c.about_id).join(host, host.c.id == snap.c.host_id)
    .where(within(snap.c.host_id, "hosts"), HAS_ANSWERED, snap.c.from_audit <= bindparam("upto"))
    .order_by(snap.c.from_audit))


def last_answers(connection: Connection, host_ids: Collection[int], number: int) -> list[tuple[int, int, int]]:
    """(host, its last audit up to ``number`` with an answer, what it reported about itself there)."""
    found: dict[int, Any] = {}
    for part in parts(host_ids):
        found.update((row[0], row) for row in ANSWERS_UPTO(connection, {"hosts": part, "upto": number}))
    return list(found.values())


_FIRST = snap.alias()
_HEARD_LATE = Hot(
    select(snap.c.host_id, func.min(snap.c.from_audit)).join(host, host.c.id == snap.c.host_id)
    .join(_FIRST, (_FIRST.c.host_id == host.c.id) & (_FIRST.c.from_audit == host.c.first_audit))
    .where(*(_FIRST.c.status != each for each in ANSWERED), HAS_ANSWERED)
    .group_by(snap.c.host_id))


def heard_late(connection: Connection) -> dict[int, int]:
    """Of hosts that were silent when they were asked first: the first audit that they answered."""
    return dict(_HEARD_LATE(connection))


def during(audit_id: Any) -> Any:
    """Spans that held at that audit."""
    return (span.c.from_audit <= audit_id) & or_(span.c.until_audit.is_(None), span.c.until_audit > audit_id)


def between(column: Any, after_audit: int | None, upto_audit: int | None) -> tuple[Any, Any]:
    return column > (after_audit or 0), column <= (END if upto_audit is None else upto_audit)


def parts(wanted: Collection[_Each], size: int = _PART) -> Iterator[list[_Each]]:
    """Sorted, so many at a time: for ``in_``."""
    ordered = sorted(wanted)
    return (ordered[start:start + size] for start in range(0, len(ordered), size))
