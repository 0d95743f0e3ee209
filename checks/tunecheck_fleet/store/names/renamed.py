"""Machines that go by another name than once, with every name that they had: what says whether names were exchanged, or
put back."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from ..audit_queries import earlier_names, since, times
from ..claims import last_answered
from ..rows import Renamed, Renaming
from ..schema import decided, decision, host, identity

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["renamed"]


def renamed(store: OpenHistory, number: int, fact: str) -> list[Renamed]:
    """By the names of that audit, of machines that some name has there. A machine is its key, whether its host has that
    or claims it (claims.py).
    ``fact``: under which it is approved."""
    key = func.coalesce(host.c.key, host.c.claimed)
    with store.db.read() as connection:
        rows = connection.execute(
            select(key.label("key"), host.c.id, host.c.name, host.c.retired_audit, identity.c.audit_id,
                   identity.c.other)
            .join(identity, identity.c.host_id == host.c.id)
            .where(identity.c.kind == "renamed", key.is_not(None))
            .order_by(identity.c.audit_id, identity.c.id)).all()
        later = {each: row.audit_id for row in reversed(rows) if row.audit_id > number for each in [row.key]}
        rows = [row for row in rows if row.audit_id <= number]
        if not rows:
            return []
        when, called = times(store, connection), earlier_names(connection, number)
        those: dict[str, list[int]] = defaultdict(list)
        keys = {row.key for row in rows}
        for number_of, told in connection.execute(select(host.c.id, key).where(key.in_(keys))):
            those[told].append(number_of)
        # Also what was said afterwards, while the machine had that name.
        approved = {told: audit_id for told, audit_id in connection.execute(
            select(key, decision.c.audit_id).join(decided, decided.c.host_id == host.c.id)
            .join(decision, decision.c.id == decided.c.decision_id)
            .where(key.in_(keys), decided.c.name == fact, decision.c.kind == "approve", decision.c.ended.is_(None))
            .order_by(decision.c.audit_id)) if told not in later or audit_id < later[told]}
        steps: dict[str, list[Renaming]] = defaultdict(list)
        names: dict[str, str | None] = {}
        for row in rows:
            steps[row.key].append(Renaming(row.other, since(
                when, row.audit_id, last_answered(connection, those[row.key], row.audit_id))))
            gone = row.retired_audit is not None and row.retired_audit <= number
            names[row.key] = None if gone else called.get(row.id, row.name)
    found = [Renamed(name, tuple(steps[each]), approved.get(each, 0))
             for each, name in names.items() if name is not None]
    return sorted(found, key=lambda each: (each.host, each.steps[-1].since.seen))
