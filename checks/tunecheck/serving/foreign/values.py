"""Values of a file that somebody else wrote: what is not what was expected is nothing."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["at", "dicts", "number", "numbers", "texts_of"]


def at(data: object, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts_of(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def numbers(value: object) -> list[float]:
    return [number(each) for each in value] if isinstance(value, list) else []


def number(value: object) -> float:
    """Return the value as a number; 0 for what is no finite number of tokens, seconds or requests."""
    good = isinstance(value, (int, float)) and not isinstance(value,
        bool) and math.isfinite(value) and 0 <= value < 1e15
    return float(value) if good else 0.0  # type: ignore[arg-type]
