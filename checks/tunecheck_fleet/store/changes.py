"""What changed on every host between audits."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, false, func, or_, select, true

from ..uncollected import uncollected
from . import audits
from .audit_queries import END, HAS_ANSWERED, SNAP_END, earlier_names, since, times
from .history import names_and_values, receipt, runs
from .rows import ChangeRow, DiffRow, TimelineRow
from .schema import host, snap, span
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["changes", "diff", "timeline"]


_WINDOW = span.c.from_audit > bindparam("a"), span.c.from_audit <= bindparam("b")
#: The value until then.
_UNTIL = span.alias()
_CHANGES = (
    select(span.c.fact_id, span.c.value_id, host.c.id, host.c.name, host.c.grp, host.c.hardware, span.c.before_id,
           span.c.from_audit, span.c.after_audit, _UNTIL.c.from_audit, _UNTIL.c.after_audit)
    .join(host, host.c.id == span.c.host_id)
    .outerjoin(_UNTIL, (_UNTIL.c.host_id == span.c.host_id) & (_UNTIL.c.fact_id == span.c.fact_id)
               & (_UNTIL.c.until_audit == span.c.from_audit))
    .where(*_WINDOW, span.c.baseline == false()).order_by(span.c.from_audit, host.c.name, span.c.fact_id))
#: Not of a machine of which another one has the name there.
_CHANGES_THERE = _CHANGES.where(or_(host.c.retired_audit.is_(None), host.c.retired_audit > bindparam("b")))


@cache
def _asked(upto: bool, facts: bool, name: bool) -> Hot:
    """The statement for changes up to an audit or all, of some facts or all, of one host or all."""
    wanted = _CHANGES_THERE if upto else _CHANGES
    if facts:
        wanted = wanted.where(within(span.c.fact_id, "facts"))
    if name:        # as the hosts were called there: ``others`` had another name
        wanted = wanted.where((host.c.name == bindparam("name")) & ~within(host.c.id, "others")
                              | within(host.c.id, "those"))
    return Hot(wanted)


def changes(store: OpenHistory, after_audit: int | None, upto_audit: int | None,
            facts: Collection[str] | None = None, name: str | None = None) -> list[ChangeRow]:
    with store.db.read() as connection:
        when = times(store, connection)
        called = earlier_names(connection, upto_audit) if upto_audit is not None else {}
        asked: dict[str, Any] = {"a": after_audit or 0, "b": END if upto_audit is None else upto_audit}
        if facts is not None:
            asked["facts"] = store.interned.numbers(connection, facts)
        if name is not None:
            asked |= {"name": name, "others": called.keys(),
                      "those": [number for number, earlier in called.items() if earlier == name]}
        rows = _asked(upto_audit is not None, facts is not None, name is not None)(connection, asked)
        named, values = names_and_values(store, connection, rows)
        before = store.interned.decoded(connection, {row[6] for row in rows})
        ran = runs(connection, {row[2] for row in rows})
    return [ChangeRow(called.get(host_id, called_now), group, hardware, named[number], before[before_id], values[held],
                      since(when, begun, after), receipt(ran, host_id, begun),
                      None if first is None else since(when, first, ahead))
            for number, held, host_id, called_now, group, hardware, before_id, begun, after, first, ahead in rows]


_MOVED = Hot(select(span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id)
             .where(*_WINDOW, span.c.baseline == false()).order_by(span.c.from_audit))
_ANEW = Hot(select(span.c.host_id, span.c.fact_id).where(*_WINDOW, span.c.baseline == true()))


def diff(store: OpenHistory, audit_a: int, audit_b: int) -> list[DiffRow]:
    if audit_a > audit_b:
        return [DiffRow(row.host, row.fact, row.b, row.a) for row in diff(store, audit_b, audit_a)]
    with uncollected(), store.db.read() as connection:
        window = {"a": audit_a, "b": audit_b}
        rows = _MOVED(connection, window)
        last = {(host_id, number): held for host_id, number, _, held in rows}
        first = {(host_id, number): before for host_id, number, before, _ in reversed(rows)}
        anew = set(_ANEW(connection, window)) if rows else set()
        values = store.interned.decoded(connection, {*first.values(), *last.values()})
        named = store.interned.facts(connection)
        hosts = dict(iter(connection.execute(select(host.c.id, host.c.name))))
        found = []
        for where, b in last.items():
            a = first[where]
            # Two numbers are two values, though Python holds 1 and True for equal; only absence has two names.
            if a != b and (values[a] is not None or values[b] is not None) and where not in anew:
                found.append(DiffRow(hosts[where[0]], named[where[1]], values[a], values[b]))
        found.sort(key=itemgetter(0, 1))
    return found


_COUNTS = Hot(select(span.c.from_audit, func.count()).where(
    span.c.from_audit >= bindparam("first"), span.c.baseline == false()).group_by(span.c.from_audit))
_HEARD = Hot(select(snap.c.from_audit, SNAP_END).join(host, host.c.id == snap.c.host_id).where(
    HAS_ANSWERED, bindparam("first") <= SNAP_END))


def timeline(store: OpenHistory, last: int | None) -> list[TimelineRow]:
    heads = audits.listed(store, last)
    if not heads:
        return []
    first, end = heads[0].id, heads[-1].id
    with store.db.read() as connection:
        changed: dict[int, int] = dict(_COUNTS(connection, {"first": first}))
        steps: dict[int, int] = {}
        for begun, ended in _HEARD(connection, {"first": first}):
            steps[max(begun, first)] = steps.get(max(begun, first), 0) + 1
            steps[ended + 1] = steps.get(ended + 1, 0) - 1
    answered, running = {}, 0
    for number in range(first, end + 1):
        running += steps.get(number, 0)
        answered[number] = running
    return [TimelineRow(head.id, head.started, changed.get(head.id, 0), answered[head.id]) for head in heads]
