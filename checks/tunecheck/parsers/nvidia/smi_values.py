"""Single values as ``nvidia-smi -q`` prints them: numbers with unit, words, and what stands in place of a value."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Optional

from ...util.at_first_use import regex

__all__ = ["Read", "RefusedError", "ids", "number", "read", "refusal", "text", "word"]

Read = Callable[[str], Any]

#: What nvidia-smi prints in place of a value, by its beginning (lower case, without brackets).
_REFUSED = (
    ("n/a", "NOT_SUPPORTED"), ("not supported", "NOT_SUPPORTED"), ("not available", "NOT_SUPPORTED"),
    ("requested functionality has been deprecated", "DEPRECATED"), ("function not found", "FUNCTION_NOT_FOUND"),
    ("gpu is lost", "GPU_IS_LOST"), ("gpu requires reset", "RESET_REQUIRED"), ("unknown error", "UNKNOWN"),
    ("err", "UNKNOWN"), ("insufficient permissions", "NO_PERMISSION"), ("not found", "NOT_FOUND"),
    ("timeout", "TIMEOUT"), ("driver not loaded", "DRIVER_NOT_LOADED"), ("in use", "IN_USE"),
)


class RefusedError(Exception):
    """The report has NVML's name of an error in place of the value. The message is that name."""


def number(unit: str, scale: int = 1, least: int = 0) -> Read:
    """Return a reader of numbers. With unit " W" and scale 1000 it reads "12.50 W" as 12500. It raises ValueError for
    less than ``least`` and for a text without the unit."""
    pattern = regex(r"^(-?\d{1,12})(?:\.(\d{1,3})\d{0,6})?%s$" % unit)

    def parse(value: str) -> int:
        found = pattern.match(value)
        if not found:
            raise ValueError(value)
        result = int(found.group(1)) * scale + int((found.group(2) or "0").ljust(3, "0")) * scale // 1000
        if result < least:
            raise ValueError(value)
        return result

    return parse


def word(words: Dict[str, Any]) -> Read:
    """Return a reader of one of these words, whatever its case. It raises ValueError for any other word."""
    def parse(value: str) -> Any:
        if value.lower() not in words:
            raise ValueError(value)
        return words[value.lower()]

    return parse


def ids(value: str) -> str:
    """Return "vendor:device". The report has the device first and the vendor second: 0x2BB510DE. ValueError for another
    text."""
    found = re.match(r"^(?:0x)?([0-9a-f]{4})([0-9a-f]{4})$", value.lower())
    if not found:
        raise ValueError(value)
    return "%s:%s" % (found.group(2), found.group(1))


def text(value: str) -> str:
    """Return the text, at most 120 characters of it. ValueError where it is empty or not printable."""
    if not value or not value.isprintable():
        raise ValueError(value)
    return value[:120]


def refusal(value: str) -> Optional[str]:
    """Return NVML's name of the error that is printed in place of a value, or None for a value."""
    plain = value.strip("[]<> ").lower()
    return next((name for start, name in _REFUSED if plain.startswith(start)), None)


def read(value: str, how: Read) -> Any:
    """Return what ``how`` reads in the text. RefusedError or ValueError where there is no value."""
    refused = refusal(value)
    if refused:
        raise RefusedError(refused)
    return how(value)
