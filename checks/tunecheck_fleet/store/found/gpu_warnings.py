"""Warnings that came when a host had more or fewer GPUs than before: a GPU that is lost takes with it what was said of
it, and brings it back."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, false, or_, select

from ..schema import fact, finding_span, span
from ..sql.compiled_statements import Hot
from ..sql.within import within

__all__ = ["with_gpus"]

#: Facts that say how many GPUs a box has.
_GPUS = ("gpu.count", "pcie.accelerators")
_MOVED = Hot(select(span.c.host_id, span.c.from_audit).join(fact, fact.c.id == span.c.fact_id).where(
    within(span.c.host_id, "hosts"), or_(*(fact.c.name == each for each in _GPUS)), span.c.baseline == false()))
_AT_FIRST = Hot(select(finding_span.c.host_id, finding_span.c.finding_id).where(
    within(finding_span.c.host_id, "hosts"), finding_span.c.outcome == "warn", finding_span.c.after_audit.is_(None)))


def with_gpus(connection: Connection, warned: Collection[tuple[int, int, int]]) -> dict[tuple[int, int, int], bool]:
    """(host, finding, since) of those among these warnings, and whether the host had the same one when it was first
    heard."""
    moved = set(_MOVED(connection, {"hosts": {row[0] for row in warned}})) if warned else set()
    came = [row for row in warned if (row[0], row[2]) in moved]
    first = set(_AT_FIRST(connection, {"hosts": {row[0] for row in came}})) if came else set()
    return {row: row[:2] in first for row in came}
