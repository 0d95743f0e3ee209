"""Changes that nobody has approved: a value that is not the one the host began with, nor one that our own roles
brought, nor one that was approved."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, bindparam, exists, false, func, or_, select

from ..model import Change
from . import audit_queries
from .audit_queries import parts
from .history import names_and_values, receipt, runs
from .rows import ChangeRow
from .schema import decided, decision, fact, host, span
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["approved_values", "is_approved", "unapproved"]


#: The last audit as of which everything was approved.
_GENERAL = Hot(select(func.max(decision.c.audit_id)).where(decision.c.finding == "", decision.c.kind == "approve"))


def unapproved(store: OpenHistory, audit_id: int,
               but: Collection[str] = (), facts: Collection[str] | None = None, of: str | None = None
               ) -> tuple[list[ChangeRow], set[tuple[str, str]]]:
    """Those that are so at ``audit_id``: of several changes since the baseline it is one, from the baseline's value to
    the one there is, since the last of them. Not of the facts ``but``, which never rest. And the (host, fact) that
    changed back to the baseline's value. Only of ``facts``, and of the host ``of``, where they are given."""
    with store.db.read() as connection:
        general = _GENERAL(connection)[0][0] or 0
        left_out = [number for number, name in store.interned.facts(connection).items() if name in but] if but else []
        wanted = (
            select(span.c.fact_id, span.c.value_id, host.c.id, host.c.name, host.c.grp, host.c.hardware,
                   span.c.before_id, span.c.from_audit, span.c.after_audit)
            .join(host, host.c.id == span.c.host_id)
            .where(span.c.fact_id.not_in(left_out), span.c.baseline == false(),
                   span.c.from_audit > general, span.c.from_audit <= audit_id,
                   or_(span.c.until_audit.is_(None), span.c.until_audit > audit_id),
                   or_(host.c.retired_audit.is_(None), host.c.retired_audit > audit_id),
                   *store.interned.only(connection, span.c.fact_id, facts),
                   *(() if of is None else (host.c.name == of,)))
            .order_by(span.c.from_audit, host.c.name, span.c.fact_id))
        rows = connection.execute(wanted).all()
        if not rows:
            return [], set()
        # What was approved as of this audit is no baseline yet: the report shows it as approved.
        approved_in = _approved_in(connection, audit_id - 1)
        ran = runs(connection, {row.id for row in rows})
        rows = [row for row in rows if row.from_audit > approved_in.get((row.id, row.fact_id), 0)
                and receipt(ran, row.id, row.from_audit) is None]
        first, left = _baselines(connection, {row.id for row in rows}, {row.fact_id for row in rows}, general,
                                 approved_in, ran)
        named, values = names_and_values(store, connection, rows)
        when = audit_queries.times(store, connection)
        called = audit_queries.earlier_names(connection, audit_id)
        held = {(row.id, row.fact_id): first.get((row.id, row.fact_id), row.before_id) for row in rows}
        before_values = store.interned.decoded(connection, set(held.values()))
    found, back = [], set()
    for row in rows:
        number, name = held[row.id, row.fact_id], called.get(row.id, row.name)
        if number == row.value_id or (before_values[number] is None and values[row.value_id] is None):
            back.add((name, named[row.fact_id]))
        else:
            found.append(ChangeRow(name, row.grp, row.hardware, named[row.fact_id], before_values[number],
                                   values[row.value_id], audit_queries.since(when, row.from_audit, row.after_audit),
                                   left=left.get((row.id, row.fact_id))))
    return found, back


#: Of a value that was approved: the span in which the host had it at the audit as of which that was said.
_OF_THEN = ((span.c.host_id == decided.c.host_id) & (span.c.fact_id == fact.c.id)
            & (span.c.from_audit <= decision.c.audit_id)
            & or_(span.c.until_audit.is_(None), span.c.until_audit > decision.c.audit_id))
_HOLDS = (decision.c.kind == "approve") & decision.c.ended.is_(None)


_APPROVED = Hot(
    select(host.c.id, host.c.name, decided.c.name, span.c.value_id).select_from(decided)
    .join(decision, decision.c.id == decided.c.decision_id).join(host, host.c.id == decided.c.host_id)
    .join(fact, fact.c.name == decided.c.name).join(span, _OF_THEN)
    .where(_HOLDS, decision.c.audit_id <= bindparam("by"),
           or_(host.c.retired_audit.is_(None), host.c.retired_audit > bindparam("then")))
    .order_by(decision.c.audit_id, decision.c.id))


def approved_values(store: OpenHistory, audit_id: int, by: int | None = None) -> dict[tuple[str, str], Any]:
    """(host, fact) -> the value that was approved there last, as of an audit up to ``by`` (None: up to this one): the
    baseline, whatever the host has. Hosts have the names of audit ``audit_id``."""
    with store.db.read() as connection:
        rows = _APPROVED(connection, {"by": audit_id if by is None else by, "then": audit_id})
        values = store.interned.decoded(connection, {row[3] for row in rows})
        called = audit_queries.earlier_names(connection, audit_id) if rows else {}
    return {(called.get(host_id, name), about): values[held] for host_id, name, about, held in rows}


def is_approved() -> ColumnElement[bool]:
    """Whether a span holds a value that was approved: it is needed as long as the approval."""
    return exists(select(decided.c.decision_id).join(decision, decision.c.id == decided.c.decision_id)
                  .join(fact, fact.c.name == decided.c.name).where(_OF_THEN, _HOLDS).correlate(span))


_APPROVED_IN = Hot(
    select(decided.c.host_id, fact.c.id, func.max(decision.c.audit_id))
    .join(decision, decision.c.id == decided.c.decision_id).join(fact, fact.c.name == decided.c.name)
    .where(_HOLDS, decision.c.audit_id <= bindparam("upto")).group_by(decided.c.host_id, fact.c.id))


def _approved_in(connection: Connection, audit_id: int) -> dict[tuple[int, int], int]:
    """(host, fact) -> the audit as of which it was approved."""
    return {(host_id, fact_id): number for host_id, fact_id, number in _APPROVED_IN(connection, {"upto": audit_id})}


_OF_FACTS = Hot(
    select(span.c.host_id, span.c.fact_id, span.c.from_audit, span.c.value_id, span.c.baseline, span.c.before_id,
           span.c.after_audit)
    .where(within(span.c.host_id, "hosts"), within(span.c.fact_id, "facts"))
    .order_by(span.c.host_id, span.c.fact_id, span.c.from_audit))


def _baselines(connection: Connection, hosts: set[int], facts: set[int], general: int,
               approved_in: dict[tuple[int, int], int], ran: dict[int, list[tuple[int, int, Change]]]
               ) -> tuple[dict[tuple[int, int], int | None], dict[tuple[int, int], int]]:
    """(host, fact) -> the number of the value that was last a baseline there; and the last audit that saw it, before
    another one came. What a host did not have when it was first heard has no span of that time: its first one says
    what was before."""
    found: dict[tuple[int, int], int | None] = {}
    left: dict[tuple[int, int], int] = {}
    for part in parts(hosts):
        for host_id, fact_id, begun, value_id, first, before_id, after in _OF_FACTS(
                connection, {"hosts": part, "facts": facts}):
            key = host_id, fact_id
            if first or begun <= max(general, approved_in.get(key, 0)) or receipt(ran, host_id, begun) is not None:
                found[key] = value_id
                left.pop(key, None)
            elif found.setdefault(key, before_id) == value_id:
                left.pop(key, None)
            elif after is not None:
                left.setdefault(key, after)
    return found, left
