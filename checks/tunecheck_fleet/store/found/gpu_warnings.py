"""Warnings that came when a host had more or fewer GPUs than before: a GPU that is lost takes with it what was said of
it, and brings it back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, false, select

from ..audit_queries import parts
from ..schema import fact, finding_span, span

__all__ = ["with_gpus"]

#: Facts that say how many GPUs a box has.
_GPUS = ("gpu.count", "pcie.accelerators")


def with_gpus(connection: Connection, wanted: Select[Any]) -> dict[tuple[int, int, int], bool]:
    """(host, finding, since) of those warnings among the ``wanted`` spans of findings, and whether the host had the
    same one when it was first heard."""
    rows = [tuple(row) for row in connection.execute(wanted.with_only_columns(
        finding_span.c.host_id, finding_span.c.finding_id, finding_span.c.from_audit,
        maintain_column_froms=True).where(
        finding_span.c.after_audit.is_not(None), finding_span.c.outcome == "warn").order_by(None))]
    moved = {tuple(row) for part in parts({row[0] for row in rows}) for row in connection.execute(
        select(span.c.host_id, span.c.from_audit).join(fact, fact.c.id == span.c.fact_id).where(
            span.c.host_id.in_(part), fact.c.name.in_(_GPUS), span.c.baseline == false()))}
    came = [row for row in rows if (row[0], row[2]) in moved]
    first = {tuple(row) for part in parts({row[0] for row in came}) for row in connection.execute(
        select(finding_span.c.host_id, finding_span.c.finding_id).where(
            finding_span.c.host_id.in_(part), finding_span.c.outcome == "warn", finding_span.c.after_audit.is_(None)))}
    return {row: row[:2] in first for row in came}
