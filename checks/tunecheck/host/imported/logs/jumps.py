"""Finds lines of several machines that were pasted into one log: the dates of one boot go forth and back by months.

A machine's own clock does that once: it is set right soon after the start, from 1970 or from a wrong battery. A laptop
that slept for weeks jumps ahead. A printer that begins with the newest line only goes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from ....util.at_first_use import regex
from ....util.text import some

__all__ = ["jumps"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: "[Sun Feb 23 16:24:18 2025] ", "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ": dates with a year.
_DATED = regex(r"^(?:<\d{1,3}>)?(?:[a-z0-9]{1,10}\s{0,6}:[a-z]{1,8}\s{0,6}:\s)?\[?"
               r"(?:[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) [\d:]{8} (\d{4})\]"
               r"|(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d:\d\d[\d.,]{0,10}(?:Z|[+-]\d\d:?\d\d)?\]?)(.{0,300})")
#: A line that names its machine is told by that (hosts.py), and files of a system's log may stand in any order.
_HOST = regex(r" [^\s:\[\]]{1,253} kernel(?:\[\d{1,9}\])?: ")
_LINES = 20_000
#: No clock is set by so much without a reason, and no machine sleeps for so long more than once.
_BACK, _AHEAD = timedelta(days=2), timedelta(days=180)
#: A clock that says less was not set yet.
_NOT_SET = 2010
_NAMED = 4


def jumps(boot: str) -> str:
    """Return the dates of lines that would be of one boot, where they are of several machines or boots: "2025-02-23,
    2023-03-06, 2024-10-12". "" where one machine may have written them."""
    groups: list[datetime] = []
    back = ahead = 0
    before: datetime | None = None
    for when in _dates(boot.splitlines()):
        if before is None or before.year < _NOT_SET:
            groups = [when]
        elif before - when > _BACK:
            back += 1
            groups.append(when)
        elif when - before > _AHEAD:
            ahead += 1
            groups.append(when)
        before = when
    if back + ahead < 2 or not ahead:
        return ""
    return some(list(dict.fromkeys(f"{each:%Y-%m-%d}" for each in groups)), _NAMED)


def _dates(raws: Iterable[str]) -> Iterator[datetime]:
    """Yield the day of each line that has one with its year, and names no machine."""
    for raw in islice(raws, _LINES):
        found = _DATED.match(raw) if raw[:1].isalnum() or raw[:1] in "[<" else None
        if found is None or _HOST.match(found[7]):
            continue
        name, of_month, of_year, year, month, day, _ = found.groups()
        try:
            yield datetime(int(of_year or year), _MONTHS.index(name) + 1 if name else int(month),
                           int(of_month or day), tzinfo=UTC)
        except ValueError:
            continue
