"""How long the history is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, exists, func, literal_column, select, union, update

from tunecheck.errors import UsageError

from .rows import Pruned
from .schema import (
    audit,
    compared,
    decision,
    differing,
    finding_span,
    host,
    identity,
    incident,
    journal,
    newest,
    problem_span,
    snap,
    span,
    turn,
    value,
)
from .unapproved import is_approved

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["prune"]


def prune(store: OpenHistory, older_than: float) -> Pruned:
    with store.turn:
        with store.db.write() as connection:
            first = connection.execute(select(func.min(audit.c.id)).where(audit.c.started >= older_than,
                                                                          audit.c.pruned.is_(False))).scalar()
            if first is None:       # the newest audit stays, whatever its age
                first = connection.execute(select(func.max(audit.c.id))).scalar()
            if first is None:
                return Pruned(0, 0, 0, 0)
            pruned = _prune(connection, first)
        store.interned.forget()
        store.times.clear()
        if store.db.sqlite:
            _shrink(store)
    return pruned


def _prune(connection: Connection, first: int) -> Pruned:
    """Everything that ended before the audit ``first``. Audits that something kept still points to stay for their
    time, hidden."""
    spans = connection.execute(delete(span).where(span.c.until_audit <= first, ~is_approved())).rowcount
    connection.execute(delete(finding_span).where(finding_span.c.until_audit <= first))
    connection.execute(delete(differing).where(differing.c.until_audit <= first))
    connection.execute(delete(compared).where(compared.c.audit_id < first))
    connection.execute(delete(problem_span).where(problem_span.c.until_audit <= first))
    snaps = connection.execute(delete(snap).where(snap.c.to_audit < first)).rowcount
    # That it is a clone counts for as long as it claims another one's key.
    clones = select(host.c.id).where(host.c.claimed.is_not(None), host.c.retired_audit.is_(None))
    connection.execute(delete(identity).where(identity.c.audit_id < first, identity.c.host_id.not_in(clones)))
    connection.execute(delete(journal).where(journal.c.last_audit < first))
    connection.execute(delete(incident).where(incident.c.first_audit < first))
    old = audit.c.id < first
    used = union(*(select(column) for column in (
        span.c.from_audit, span.c.until_audit, span.c.after_audit, snap.c.from_audit, snap.c.to_audit,
        finding_span.c.from_audit, finding_span.c.until_audit, finding_span.c.after_audit,
        problem_span.c.from_audit, problem_span.c.until_audit, differing.c.from_audit, differing.c.until_audit,
        differing.c.seen_audit, differing.c.after_audit, host.c.first_audit,
        host.c.last_audit, host.c.answered_audit, newest.c.audit_id, identity.c.audit_id, decision.c.audit_id)))
    gone = connection.execute(select(func.count()).select_from(audit).where(old, audit.c.pruned.is_(False))).scalar()
    used_ids = used.subquery()
    connection.execute(delete(audit).where(old, ~exists(select(literal_column("1")).select_from(used_ids)
                                                         .where(used_ids.c[0] == audit.c.id))))
    connection.execute(update(audit).where(old).values(pruned=True, asked_id=None))
    return Pruned(spans, snaps, int(gone or 0), _values(connection), first)


def _values(connection: Connection) -> int:
    """Values that nothing points to. Left where somebody audits: that process remembers their numbers."""
    if connection.execute(select(turn.c.name)).first() is not None:
        return 0
    used = union(*(select(column) for column in (span.c.value_id, span.c.before_id, snap.c.about_id, host.c.about_id,
                                                 audit.c.asked_id, problem_span.c.problem_id,
                                                 problem_span.c.words_id))).subquery()
    return connection.execute(delete(value).where(value.c.id.not_in(
        select(used.c[0]).where(used.c[0].is_not(None))), value.c.json != "null")).rowcount


def _shrink(store: OpenHistory) -> None:
    """Give the space back to the disk; not worth an error (it needs the file's size once more for a moment)."""
    try:
        with store.db.saying(), store.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    except UsageError:
        pass
