"""Which hosts the inventory has in another group than before, and of one host since when it is in which group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, select

from ..audit_queries import SNAP_END, earlier_names, parts
from ..schema import host, snap

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["GroupMove", "between", "stays"]


class GroupMove(NamedTuple):
    """A host that is in the group ``now``, and was in the group ``before``."""

    host: str
    before: str
    now: str


def between(store: OpenHistory, after: int, number: int) -> list[GroupMove]:
    """The hosts of that audit that were in another group when they were asked last up to the other audit."""
    with store.db.read() as connection:
        fresh = {row.id: row for row in connection.execute(
            select(host.c.id, host.c.name, snap.c.about_id).join(snap, snap.c.host_id == host.c.id).where(
                snap.c.from_audit > after, snap.c.from_audit <= number, number <= SNAP_END))}
        last: dict[int, int] = {}
        for part in parts(fresh):
            newest = select(snap.c.host_id, func.max(snap.c.from_audit).label("begun")).where(
                snap.c.host_id.in_(part), snap.c.from_audit <= after).group_by(snap.c.host_id).subquery()
            last.update(dict(map(tuple, connection.execute(select(snap.c.host_id, snap.c.about_id).join(
                newest, (newest.c.host_id == snap.c.host_id) & (newest.c.begun == snap.c.from_audit))))))
        groups = _groups(store, connection, [*last.values(), *(row.about_id for row in fresh.values())])
        called = earlier_names(connection, number)
    return sorted(GroupMove(called.get(number, fresh[number].name), groups[then], groups[fresh[number].about_id])
                  for number, then in last.items() if groups[then] != groups[fresh[number].about_id])


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
