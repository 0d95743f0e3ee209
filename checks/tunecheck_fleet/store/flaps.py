"""Facts that went back to a value they had left."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import false, select

from .audit_queries import times
from .rows import Flap
from .schema import host, span

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["flaps"]


def flaps(store: OpenHistory, days: float, audit_id: int | None = None,
          facts: Collection[str] | None = None) -> list[Flap]:
    with store.db.read() as connection:
        when = times(store, connection)
        last = max(when, default=0) if audit_id is None else audit_id
        start = (store.clock() if audit_id is None else when.get(last, 0.0)) - days * 86_400
        first = min((number for number, at in when.items() if at >= start), default=None)
        if first is None:
            return []
        seen: dict[tuple[int, int], list[int | None]] = {}
        for host_id, fact_id, before, value in connection.execute(
                select(span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id)
                .where(span.c.from_audit >= first, span.c.from_audit <= last, span.c.baseline == false(),
                       *store.interned.only(connection, span.c.fact_id, facts))
                .order_by(span.c.from_audit)):
            seen.setdefault((host_id, fact_id), [before]).append(value)
        null = store.interned.null(connection)
        hosts = dict(iter(connection.execute(select(host.c.id, host.c.name))))
        names = store.interned.facts(connection)
    found = []
    for (host_id, fact_id), values in seen.items():
        distinct = len({null if value is None else value for value in values})
        if distinct < len(values):
            found.append(Flap(hosts[host_id], names[fact_id], len(values) - 1, distinct))
    return sorted(found, key=lambda flap: (-flap.times, flap.host, flap.fact))
