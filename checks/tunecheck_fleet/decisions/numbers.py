"""Several numbers in one word of a command: 1,3-5."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tunecheck.errors import Misuse, UsageError

__all__ = ["numbers_of", "numbers_text"]

_PART = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
#: So many in one command are no slip.
_MOST = 20_000


def numbers_of(text: str, option: str) -> list[int]:
    """The numbers that the word means, in order. UsageError where it is no such word."""
    found: set[int] = set()
    for part in text.split(","):
        matched = _PART.fullmatch(part.strip())
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if not first <= last < first + _MOST:
            raise UsageError(f"{option} {text[:40]!r} is neither a number (3) nor several (3,5-7)", Misuse.MALFORMED)
        found |= {*range(first, last + 1)}
    return sorted(found)


def numbers_text(numbers: Iterable[int]) -> str:
    """The word that means these numbers."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
