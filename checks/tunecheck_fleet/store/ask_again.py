"""Hosts that gave no answer before an audit was cut off are asked again: what was noted of them is undone."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from .audit_queries import ANSWERED
from .schema import host, snap

__all__ = ["forget_silent"]


def forget_silent(connection: Connection, audit_id: int) -> None:
    """As if the hosts that are silent in this audit, the newest that they are in, had not been asked in it."""
    rows = connection.execute(select(host.c.id, host.c.snap_from).where(
        host.c.last_audit == audit_id, host.c.retired_audit.is_(None), host.c.status.not_in(ANSWERED))).all()
    for row in rows:
        if row.snap_from < audit_id:        # it was as silent in the audit before
            _change(connection, row.id, last_audit=audit_id - 1)
            continue
        connection.execute(delete(snap).where(snap.c.host_id == row.id, snap.c.from_audit == audit_id))
        before = connection.execute(select(snap).where(snap.c.host_id == row.id)
                                    .order_by(snap.c.from_audit.desc()).limit(1)).first()
        if before is None:
            _change(connection, row.id, last_audit=audit_id - 1, snap_from=audit_id, status="")
        else:
            _reopen(connection, before)


def _reopen(connection: Connection, before: Row[Any]) -> None:
    connection.execute(update(snap).where(snap.c.host_id == before.host_id, snap.c.from_audit == before.from_audit)
                       .values(to_audit=None))
    _change(connection, before.host_id, last_audit=before.to_audit, snap_from=before.from_audit, status=before.status,
            about_id=before.about_id)


def _change(connection: Connection, number: int, **values: Any) -> None:
    connection.execute(update(host).where(host.c.id == number).values(**values))
