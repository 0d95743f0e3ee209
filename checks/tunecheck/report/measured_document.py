"""What a trial measured, as plain data; its JSON Schema is MEASURED in schema.py."""

from __future__ import annotations

import math
from typing import Any

from ..trials.measured import Hang, Measured, Measurement

__all__ = ["measured_document"]


def measured_document(found: Measured) -> dict[str, Any]:
    """Every figure with its method, what was wrong, what hung, what failed, and notes (versions, sizes used)."""
    return {
        "figures": [_figure(each) for each in found.figures],
        "wrong": [{key: _plain(value) for key, value in each.items()} for each in found.wrong],
        "hangs": [_hang(each) for each in found.hangs],
        "failures": {name: str(text) for name, text in found.failures.items()},
        "notes": {name: _plain(value) for name, value in found.notes.items()},
    }


def _figure(each: Measurement) -> dict[str, Any]:
    """``a`` and ``b`` are GPU numbers in address order, ``size`` bytes; ``more`` holds e.g. p50_ns to max_ns."""
    return {"trial": each.trial, "what": each.what, "value": _number(each.value), "unit": each.unit,
            "method": each.method, "samples": each.samples, "median": _number(each.median), "p99": _number(each.p99),
            "spread": _number(each.spread), "verified": each.verified, "a": each.a, "b": each.b, "size": each.size,
            "ranks": each.ranks, "more": {name: _number(value) for name, value in each.more.items()}}


def _hang(each: Hang) -> dict[str, Any]:
    return {"trial": each.trial, "phase": each.phase, "after": _number(each.after), "culprits": list(each.culprits),
            "victims": list(each.victims), "arm": each.arm, "ranks": each.ranks, "ran": each.ran,
            "bundle": each.bundle,
            "aftermath": {"verdict": each.aftermath.verdict, "text": each.aftermath.text,
                          "seconds": _number(each.aftermath.seconds)}}


def _number(value: float) -> float | None:
    """Six significant digits; null for what JSON has no word for."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
