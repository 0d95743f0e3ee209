"""A lost GPU is one entry: every fact that counts something once per GPU says it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..verdict import Cause

__all__ = ["losses"]

#: What leads, the best first. Where the specification's own check speaks of the count, the name does.
_LEADS = ("gpu.count", "pcie.accelerators", "gpu.name")


def losses(causes: Iterable[Cause]) -> list[tuple[Cause, int, list[Cause]]]:
    """(cause, how many GPUs it says are lost, the other causes that say only that), as ranked; those others have no
    entry of their own. They are of the same hosts, since the same audits, and count exactly so many members fewer:
    {x:8} -> {x:7}. Where another value came ({x:7, y:1}) it stays an entry of its own."""
    ranked = list(causes)
    leads: dict[tuple[Any, ...], tuple[Cause, int]] = {}
    for fact in reversed(_LEADS):
        for cause in ranked:
            if cause.fact == fact and (lost := _lost(cause)):
                leads[_key(cause)] = (cause, lost)
    found: list[tuple[Cause, int, list[Cause]]] = []
    place: dict[int, list[Cause]] = {}
    for cause in ranked:
        lead, lost = leads.get(_key(cause), (None, 0))
        if lead is None or (cause is not lead and _lost(cause) != lost):
            found.append((cause, 0, []))
            continue
        # The first of them holds the place: it may be ranked before the one that leads.
        if id(lead) not in place:
            place[id(lead)] = []
            found.append((lead, lost, place[id(lead)]))
        if cause is not lead:
            place[id(lead)].append(cause)
    return found


def _key(cause: Cause) -> tuple[Any, ...]:
    return (cause.authority, cause.group, cause.hosts, cause.since, cause.state, cause.counts,
            cause.waived and cause.waived.id)


def _lost(cause: Cause) -> int:
    """How many members fewer the value counts than the one before, and nothing else; 0: it is another change."""
    before, value = _members(cause.before), _members(cause.value)
    if before is None or value is None or any(before.get(name, 0) < count for name, count in value.items()):
        return 0
    return sum(before.values()) - sum(value.values())


def _members(value: Any) -> Mapping[str, int] | None:
    if value is None:
        return {}
    if type(value) is int:
        return {"": value} if value >= 0 else None
    if isinstance(value, dict) and all(type(count) is int and count > 0 for count in value.values()):
        return value
    return None
