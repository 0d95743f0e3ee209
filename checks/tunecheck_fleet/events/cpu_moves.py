"""How many CPUs a host has fewer or more than before."""

from __future__ import annotations

from ..fleet_report import Cause

__all__ = ["fewer_cpus"]

_CHECK, _ONLINE, _LOST = "cpu-lost", "cpu.online", "cpu.lost"


def fewer_cpus(cause: Cause) -> int:
    """How many CPUs fewer it tells; negative: more; 0: none, or it does not say."""
    before, value = cause.before, cause.value
    if cause.fact == _CHECK:
        return int(cause.outcome in ("fail", "warn") or bool(cause.was))
    if cause.fact == _ONLINE and type(before) is int and type(value) is int:
        return before - value
    if cause.fact == _LOST and isinstance(value, list):
        return len(value) - (len(before) if isinstance(before, list) else 0)
    return 0
