"""By which specification hosts were judged when: what a finding's end may come from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from ..audit_queries import HAS_ANSWERED, earlier_names
from ..schema import host, snap
from ..sql.compiled_statements import Hot
from ..sql.within import within

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["judged_by"]


_ANSWERS = Hot(
    select(host.c.id, host.c.name, snap.c.from_audit, snap.c.about_id).join(snap, snap.c.host_id == host.c.id)
    .where(or_(within(host.c.name, "names"), within(host.c.id, "those")), HAS_ANSWERED))


def judged_by(store: OpenHistory, wanted: Collection[tuple[str, int]], audit_id: int
              ) -> dict[tuple[str, int], str | None]:
    """(host, audit) -> the digest of the specification by which its newest answer up to that audit was judged; None:
    without one. Of a host that had not answered until then there is nothing. Names are those of ``audit_id``."""
    names = {name for name, _ in wanted}
    if not names:
        return {}
    found: dict[str, list[tuple[int, int]]] = {}
    with store.db.read() as connection:
        called = earlier_names(connection, audit_id)
        those = [number for number, name in called.items() if name in names]
        for number, name, begun, about in _ANSWERS(connection, {"names": names, "those": those}):
            found.setdefault(called.get(number, name), []).append((begun, about))
        told = store.interned.decoded(connection, {about for each in found.values() for _, about in each})
    for each in found.values():
        each.sort()
    specs = {}
    for name, audit in wanted:
        spans = found.get(name, [])
        if place := bisect_right(spans, audit, key=lambda span: span[0]):
            specs[name, audit] = told[spans[place - 1][1]]["spec"]
    return specs
