"""When the boot of a kernel log began, and whether other lines are older: a line with a date and the seconds since boot
tells the one from the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from ...util.at_first_use import regex

__all__ = ["older"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: "Sep 19 16:18:02", "2025-09-19T16:18:02", "[Fri Sep 19 16:18:02 2025]"; and the kernel's own seconds behind it.
_DATED = regex(r"^(?:<\d{1,3}>)?\[?(?:[A-Z][a-z]{2} )?(?:(\d{4})-(\d\d)-(\d\d)[T ]|([A-Z][a-z]{2}) {1,2}(\d{1,2}) )"
               r"(\d\d):(\d\d):(\d\d)(?:[^\n]{0,300}? kernel(?:\[\d{1,9}\])?: \[ {0,8}(\d{1,9}\.\d{1,9})\] )?")
_LINES = 5000
#: Clocks are set at boot, and zones are not told: less than this is no other boot. Half a year away nobody knows
#: whether it was before or after.
_LEAST, _MOST = timedelta(days=2), timedelta(days=180)
_YEAR = timedelta(days=365)


def older(log: str, other: str) -> bool:
    """Return whether the lines of ``other`` are from before the boot that ``log`` is of, all of those that have a
    date. False where it cannot be told."""
    begun = [when - timedelta(seconds=float(seconds)) for when, seconds in _dates(log) if seconds]
    dates = [when for when, _ in _dates(other)]
    return bool(begun and dates) and all(_LEAST < (min(begun) - when) % _YEAR < _MOST for when in dates)


def _dates(log: str) -> list[tuple[datetime, str]]:
    """The dates of the first lines, each with the seconds since boot that stand behind it, "" where none do."""
    found = list[tuple[datetime, str]]()
    for line in islice(log.split("\n"), _LINES):
        each = _DATED.match(line)
        if each is None:
            continue
        year, month, day, name, of_month, hour, minute, second, seconds = each.groups()
        try:
            # Where the year is not told, all lines have one that has each day.
            found.append((datetime(2024 if name else int(year), _MONTHS.index(name) + 1 if name else int(month),
                                   int(of_month or day), int(hour), int(minute), int(second), tzinfo=UTC),
                          seconds or ""))
        except ValueError:
            continue
    return found
