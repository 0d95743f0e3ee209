"""When the boot of a kernel log began, and which lines are older: a line with a date and the seconds since boot tells
it, or the kernel's first line with its date."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice

from ....util.at_first_use import regex

__all__ = ["older", "parted"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: "Sep 19 16:18:02", "2025-09-19T16:18:02", "[Fri Sep 19 16:18:02 2025]"; and the kernel's own seconds behind it.
_DATED = regex(r"^(?:<\d{1,3}>)?\[?(?:[A-Z][a-z]{2} )?(?:(\d{4})-(\d\d)-(\d\d)[T ]|([A-Z][a-z]{2}) {1,2}(\d{1,2}) )"
               r"(\d\d):(\d\d):(\d\d)(?:[^\n]{0,300}? kernel(?:\[\d{1,9}\])?: \[ {0,8}(\d{1,9}\.\d{1,9})\] )?")
_LINES = 5000
#: How a line with a date begins, and the kernel's first line of a boot.
_STARTS, _FIRST = frozenset("<[0123456789ADFJMNOSTW"), "Linux version "
#: Clocks are set at boot, and zones are not told: less than this is no other boot. Half a year away nobody knows
#: whether it was before or after.
_LEAST, _MOST = timedelta(days=2), timedelta(days=180)
#: Stands for a year that is not told, and has each day.
_NO_YEAR, _YEAR = 1904, timedelta(days=366)
#: Seconds after its start in which a machine sets its clock right.
_STEP = 600.0
_Dated = tuple[datetime, str]


def older(log: str, other: str) -> bool:
    """Return whether the lines of ``other`` are from before the boot that ``log`` is of, all of those that have a
    date. False where it cannot be told."""
    begun = _begun(_dates(log))
    dates = [when for when, _ in _dates(other)]
    return begun is not None and bool(dates) and all(_before(when, begun) for when in dates)


def parted(log: str, other: str = "") -> tuple[str, str]:
    """Return the lines of ``log`` from before the last boot in it began, and the others. ``other``: a text of the boot
    that is judged, which tells where ``log`` does not. A line without a date belongs to the one before it."""
    rows = [(raw, _read(raw)) for raw in log.splitlines(keepends=True)]
    begun = _last_begun(rows) or _begun(_dates(other))
    if begun is None:
        return "", log
    parts: tuple[list[str], list[str]] = [], []
    is_older = False
    for raw, dated in rows:
        is_older = _before(dated[0], begun) if dated else is_older
        parts[not is_older].append(raw)
    return "".join(parts[0]), "".join(parts[1])


def _begun(dates: Iterable[_Dated]) -> datetime | None:
    """Return when the boot of these lines began, None where none has the seconds since then."""
    return min((when - timedelta(seconds=float(seconds)) for when, seconds in dates if seconds), default=None)


def _last_begun(rows: Iterable[tuple[str, _Dated | None]]) -> datetime | None:
    """Return when the last of the boots began that these lines are of, None where they do not tell."""
    begun = clock = None
    for raw, dated in rows:
        if dated is None or not (dated[1] or _FIRST in raw):
            continue
        when = dated[0] - timedelta(seconds=float(dated[1] or 0))
        if begun is None or clock is None:
            begun = clock = when
        elif _before(clock, when):
            # A clock that is set right soon after the start moves all dates behind it; that is no other boot.
            begun = begun if dated[1] and float(dated[1]) < _STEP else when
            clock = when
    return begun


def _before(when: datetime, begun: datetime) -> bool:
    """Return whether a date is surely from before another. Where a year is not told, the nearest one counts."""
    if _NO_YEAR in (when.year, begun.year):
        return _LEAST < (begun.replace(year=_NO_YEAR) - when.replace(year=_NO_YEAR)) % _YEAR < _MOST
    return begun - when > _LEAST


def _read(raw: str) -> _Dated | None:
    """Return the date of a line and the seconds since boot behind it, "" where there are none."""
    found = _DATED.match(raw) if raw[:1] in _STARTS else None
    if found is None:
        return None
    year, month, day, name, of_month, hour, minute, second, seconds = found.groups()
    try:
        return (datetime(_NO_YEAR if name else int(year), _MONTHS.index(name) + 1 if name else int(month),
                         int(of_month or day), int(hour), int(minute), int(second), tzinfo=UTC), seconds or "")
    except ValueError:
        return None


def _dates(log: str) -> list[_Dated]:
    """Return the dates of the first lines, each with the seconds since boot that stand behind it."""
    return [found for raw in islice(log.split("\n"), _LINES) if (found := _read(raw))]
