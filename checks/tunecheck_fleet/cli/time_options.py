"""Times as operators write them: ``7d``, ``36h``, ``2026-12-31``, ``2026-12-31T18:00``, ``audit:12``."""

from __future__ import annotations

import datetime
import re

from tunecheck.errors import Misuse, UsageError

__all__ = ["age", "ago", "duration", "later", "since"]

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DATES = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?"


def duration(text: str) -> float | None:
    """Seconds of ``90m``, ``36h``, ``7d``, ``2w``; None for anything else."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", text)
    return int(found[1]) * _UNITS[found[2]] if found else None


def age(text: str, option: str) -> float:
    """Seconds of how old something may be: ``20m``, ``7d``, also ``90s`` and 0. UsageError for anything else."""
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text)
    if found is None:
        raise UsageError(f"{option} {text[:60]}: expected a number with s, m, h, d or w, as in {option} 1h or "
                         f"{option} 7d", Misuse.MALFORMED)
    return float(int(found[1]) * {"s": 1, **_UNITS}[found[2]])


def since(text: str, option: str, now: float) -> int | float:
    """An audit's number (int), or a time in seconds since 1970 (float). UsageError for the future and for nonsense."""
    found = re.fullmatch(r"audit:([1-9][0-9]{0,8})", text)
    return int(found[1]) if found else ago(text, option, now, "7d, 36h, 2026-11-01 or audit:12")


def ago(text: str, option: str, now: float, expected: str = "7d, 36h or 2026-11-01") -> float:
    """A time that has passed."""
    length = duration(text)
    at = now - length if length is not None else _date(text, option, expected)
    if at > now:
        raise UsageError(f"{option} {text}: lies in the future; expected a time that has passed: {expected}",
                         Misuse.FUTURE)
    return at


def later(text: str, option: str, now: float) -> float:
    """A time to come; a date means the end of that day."""
    expected = "30d or a date to come, as 2027-01-31"
    length = duration(text)
    if length is not None and text.endswith("m"):
        raise UsageError(f"{option} {text}: minutes, or months? Expected {expected}, 36h or 8w", Misuse.AMBIGUOUS)
    if length is not None:
        return now + length
    at = _date(text, option, expected) + (86399 if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else 0)
    if at <= now:
        raise UsageError(f"{option} {text}: has passed; expected {expected}", Misuse.PASSED)
    return at


def _date(text: str, option: str, expected: str) -> float:
    """In this machine's time zone where the text names none."""
    try:
        if not re.fullmatch(_DATES, text):
            raise ValueError
        return datetime.datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text[:60]}: expected {expected}", Misuse.MALFORMED) from None
