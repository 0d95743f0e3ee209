"""Which codes of a check are one fault, told with or without its cause (Check.one_fault)."""

from __future__ import annotations

from .index import CHECKS

__all__ = ["fault_of"]

_FAULTS = {(check.id, code): check.one_fault[0] for check in CHECKS for code in check.one_fault}


def fault_of(check: str, code: str) -> str:
    """Return the code by which a fault is known over time."""
    return _FAULTS.get((check, code), code)
