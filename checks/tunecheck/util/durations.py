"""Lengths of time as operators type them, for every option of every verb."""

from __future__ import annotations

import re

from ..errors import Misuse, UsageError

__all__ = ["UNITS", "seconds", "span"]

#: Seconds of a unit; without one a number is seconds.
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def span(text: str) -> float | None:
    """Return the seconds of ``90``, ``1.5h``, ``90s``, ``20m``, ``36h``, ``7d``, ``2w``. None for anything else."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smhdw]?)", text, re.ASCII)
    return float(found[1]) * UNITS[found[2]] if found else None


def seconds(option: str, text: str) -> float:
    """Return the seconds of such a text. UsageError that names the option for anything else."""
    found = span(text)
    if found is None:
        raise UsageError(f"{option} {text[:60]}: expected a time, as in 90s, 20m or 2h", Misuse.MALFORMED)
    return found
