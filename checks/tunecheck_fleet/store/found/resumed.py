"""Findings that only an audit of another inventory has ended. It judges by another desired state, or by none: what the
inventory's own audits found before it and find again after it has been there all the time."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, null, or_, select, update

from ...scope import fleet_of
from ..audit_queries import ANSWERED
from ..identify import Box
from ..schema import audit, finding_span, snap
from ..sql.compiled_statements import Hot

__all__ = ["resume"]

_ENDED = Hot(select(finding_span.c.finding_id, finding_span.c.outcome, finding_span.c.from_audit,
                    finding_span.c.until_audit).where(
    finding_span.c.host_id == bindparam("number"), finding_span.c.until_audit.is_not(None)).order_by(
    finding_span.c.until_audit))
_SCOPES = select(audit.c.id, audit.c.scope)
_HEARD = Hot(select(snap.c.from_audit, snap.c.to_audit).where(
    snap.c.host_id == bindparam("number"), or_(*(snap.c.status == bindparam(each) for each in ANSWERED))))
_AGAIN = Hot(update(finding_span).where(
    finding_span.c.host_id == bindparam("number"), finding_span.c.finding_id == bindparam("found"),
    finding_span.c.from_audit == bindparam("begun")).values(until_audit=null()))


def resume(connection: Connection, row: Box, audit_id: int, told: Collection[tuple[int, str]]) -> set[int]:
    """Open those of the findings that ``told`` (number, outcome) again, and return their numbers."""
    last = {(found, outcome): (begun, until) for found, outcome, begun, until in _ENDED(connection, {"number": row.id})
            if (found, outcome) in told}
    if not last:
        return set()
    first = min(begun for begun, _ in last.values())
    inventory = {number: fleet_of(scope) for number, scope in connection.execute(
        _SCOPES.where(audit.c.id >= first, audit.c.id <= audit_id))}
    own = inventory.get(audit_id)
    heard = [(begun, row.last_audit if ended is None else ended) for begun, ended in _HEARD(
        connection, {"number": row.id, **dict(zip(ANSWERED, ANSWERED, strict=True))})]
    asked = [number for number, of in inventory.items() if of == own and number < audit_id and any(
        begun <= number <= ended for begun, ended in heard)]
    newest = max(asked, default=0)
    again = [{"number": row.id, "found": found, "begun": begun} for (found, _), (begun, until) in last.items()
             if begun <= newest < until and inventory.get(until) != own]
    if again:
        _AGAIN(connection, again)
    return {each["found"] for each in again}
