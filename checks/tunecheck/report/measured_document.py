"""What a trial measured, as plain data and back; its JSON Schema is MEASURED in app/schemas.py."""

from __future__ import annotations

import math
from typing import Any

from ..model.measurement import Aftermath, Hang, Measured, Measurement

__all__ = ["measured_document", "measured_of"]


def measured_document(found: Measured) -> dict[str, Any]:
    """Return a trial as plain data: every figure with its method, what was wrong, what hung, what failed, and notes
    (versions, sizes used)."""
    return {
        "figures": [_figure(each) for each in found.figures],
        "wrong": [{key: _plain(value) for key, value in each.items()} for each in found.wrong],
        "hangs": [_hang(each) for each in found.hangs],
        "failures": {name: str(text) for name, text in found.failures.items()},
        "notes": {name: _plain(value) for name, value in found.notes.items()},
    }


def measured_of(data: dict[str, Any]) -> Measured:
    """Return the trial of which measured_document() made plain data, without the figures that have no value."""
    figures = tuple(_measurement(each) for each in data["figures"] if each["value"] is not None and each["value"] > 0)
    hangs = tuple(Hang(**{**each, "after": each["after"] or 0.0, "culprits": tuple(each["culprits"]),
                          "victims": tuple(each["victims"]), "remarks": tuple(each.get("remarks", ())),
                          "aftermath": Aftermath(**each["aftermath"])})
                  for each in data["hangs"])
    return Measured(figures, tuple(data["wrong"]), hangs, data["failures"], data["notes"])


def _measurement(data: dict[str, Any]) -> Measurement:
    given = {name: data["value"] if data[name] is None else data[name] for name in ("median", "p99")}
    more = {name: value for name, value in data["more"].items() if value is not None}
    return Measurement(**{**data, **given, "spread": data["spread"] or 0.0, "more": more})


def _figure(each: Measurement) -> dict[str, Any]:
    """Return a figure as plain data. ``a`` and ``b`` are GPU numbers in address order, ``size`` bytes; ``more`` holds
    e.g. p50_ns to max_ns."""
    return {"trial": each.trial, "what": each.what, "value": _number(each.value), "unit": each.unit,
            "method": each.method, "samples": each.samples, "median": _number(each.median), "p99": _number(each.p99),
            "spread": _number(each.spread), "verified": each.verified, "a": each.a, "b": each.b, "size": each.size,
            "ranks": each.ranks, "more": {name: _number(value) for name, value in each.more.items()}}


def _hang(each: Hang) -> dict[str, Any]:
    return {"trial": each.trial, "phase": each.phase, "after": _number(each.after), "culprits": list(each.culprits),
            "victims": list(each.victims), "arm": each.arm, "ranks": each.ranks, "ran": each.ran,
            "bundle": each.bundle, "remarks": list(each.remarks),
            "aftermath": {"verdict": each.aftermath.verdict, "text": each.aftermath.text,
                          "seconds": _number(each.aftermath.seconds)}}


def _number(value: float) -> float | None:
    """Return the number with six significant digits; None for what JSON has no word for."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
