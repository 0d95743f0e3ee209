"""Which hosts the inventory has in another group than before, and of one host since when it is in which group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from ..audit_queries import SNAP_END, earlier_names, parts
from ..schema import host, snap
from ..sql.compiled_statements import Hot
from ..sql.within import within

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["GroupMove", "between", "stays"]


class GroupMove(NamedTuple):
    """A host that is in the group ``now``, and was in the group ``before``."""

    host: str
    before: str
    now: str


_FRESH = Hot(select(host.c.id, host.c.name, snap.c.about_id).join(snap, snap.c.host_id == host.c.id).where(
    snap.c.from_audit > bindparam("after"), snap.c.from_audit <= bindparam("upto"), bindparam("upto") <= SNAP_END))
_NEWEST = select(snap.c.host_id, func.max(snap.c.from_audit).label("begun")).where(
    within(snap.c.host_id, "hosts"), snap.c.from_audit <= bindparam("after")).group_by(snap.c.host_id).subquery()
_LAST = Hot(select(snap.c.host_id, snap.c.about_id).join(
    _NEWEST, (_NEWEST.c.host_id == snap.c.host_id) & (_NEWEST.c.begun == snap.c.from_audit)))


def between(store: OpenHistory, after: int, number: int) -> list[GroupMove]:
    """The hosts of that audit that were in another group when they were asked last up to the other audit."""
    with store.db.read() as connection:
        fresh = {row[0]: row[1:] for row in _FRESH(connection, {"after": after, "upto": number})}
        last: dict[int, int] = {}
        for part in parts(fresh):
            last.update(_LAST(connection, {"hosts": part, "after": after}))
        groups = _groups(store, connection, [*last.values(), *(about for _, about in fresh.values())])
        called = earlier_names(connection, number)
    return sorted(GroupMove(called.get(each, fresh[each][0]), groups[then], groups[fresh[each][1]])
                  for each, then in last.items() if groups[then] != groups[fresh[each][1]])


def stays(store: OpenHistory, connection: Connection,
          abouts: Iterable[tuple[int, int]]) -> list[tuple[int, str, str | None]]:
    """(audit, group, the group before) of every group that a host was in, where it was in several; ``abouts``: (audit,
    what it told of itself since then), oldest first."""
    rows = list(abouts)
    groups = _groups(store, connection, [about for _, about in rows])
    found: list[tuple[int, str, str | None]] = []
    for begun, about in rows:
        if not found or found[-1][1] != groups[about]:
            found.append((begun, groups[about], found[-1][1] if found else None))
    return found if len(found) > 1 else []


def _groups(store: OpenHistory, connection: Connection, abouts: Iterable[int]) -> Mapping[int, str]:
    decoded = store.interned.decoded(connection, set(abouts))
    return {number: str(told["group"]) for number, told in decoded.items() if number is not None}
