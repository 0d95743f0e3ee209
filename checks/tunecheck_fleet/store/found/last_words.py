"""How hosts told findings the last time that they could: what cannot be told now is still called by that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import select

from ...model import Problem, subject_key
from ..audit_queries import parts
from ..schema import host
from ..told_problems import Over, last_told

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["last_words"]


def last_words(store: OpenHistory, wanted: Mapping[str, Collection[tuple[str, str, str, str]]],
               audit_id: int) -> dict[tuple[str, str, str, str], Problem]:
    """(host, check, key of the subject, code) -> the finding as it was told last, up to that audit; of what is not kept
    nothing. ``wanted``: host -> (check, subject, code, outcome)."""
    if not wanted:
        return {}
    with store.db.read() as connection:
        named = {number: name for part in parts(wanted) for number, name in connection.execute(
            select(host.c.id, host.c.name).where(host.c.name.in_(part), host.c.first_audit <= audit_id))}
        findings = [Over(number, *each, audit_id) for number, name in named.items() for each in sorted(wanted[name])]
        told = last_told(store, connection, findings, None)
    return {(named[each.host_id], each.check, subject_key(each.subject), each.code): problem
            for each, problem in told.items()}
