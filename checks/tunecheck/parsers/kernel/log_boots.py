"""Splits a log of several boots: the journal, syslog files, what bug reports grep from them, pstore.

A boot begins at the kernel's first line, at journalctl's "-- Boot <id> --", or where the time since boot goes back.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import begins, span

__all__ = ["HEADING", "BootLines", "boots", "dated"]

#: journalctl's separator ("-- Reboot --" up to systemd 245), and how a bug report names what follows.
HEADING = regex(r"^-- (?:Boot ([^\n]{1,200}?)|Reboot) --[ \t]*$", re.MULTILINE)
_VERSION = regex(r"^([^\n]{0,120}?)Linux version \d", re.MULTILINE)
_SINCE_BOOT = regex(r"^[^\n\[]{0,120}\[ {0,8}(\d{1,9})\.\d{1,9}\]", re.MULTILINE)
#: drivers/rtc/class.c; the seconds since 1970 behind it are the same moment.
_CLOCK = regex(r"\[ {0,8}(\d{1,9})\.\d{1,9}\] [^\n]{1,60}: setting system clock to "
               r"([0-9-]{10})[T ]([0-9:]{8}) UTC")
#: Messages of several processors may come a little out of order.
_BACK = 2
#: The kernel's first line follows the separator at once, or after a few lines of the same boot.
_NEAR = 4000


@dataclass(frozen=True)
class BootLines:
    """The lines of one boot. ``name`` is that of the separator before them, "" for none; ``start``: the kernel's first
    line is among them."""

    name: str
    start: bool
    text: str


def boots(log: str) -> List[BootLines]:
    """Return every boot, in the order of the log. A log that nothing separates is one boot."""
    marks: List[Tuple[int, int, str, bool]] = []        # position, end of the separator, name, the kernel's first line
    for found in HEADING.finditer(log):
        marks.append((found.start(), found.end(), (found[1] or "").strip(), False))
    marks += [(found.start(), found.start(), "", True) for found in _VERSION.finditer(log) if begins(found[1])]
    marks += [(place, place, "", False) for place in _going_back(log)]
    marks.sort()
    result: List[BootLines] = []
    begin, name, start = 0, "", False
    mark = head = -_NEAR        # where the last boot began, and where that was said by a separator or its first line
    for place, end, label, first in [*marks, (len(log), len(log), "", False)]:
        back = not first and place == end < len(log)
        if first and not start and place - mark < _NEAR:
            start, head = True, place       # the first line of the boot that a separator began
            continue
        if back and place - head < _NEAR:
            continue                        # time went back where the boot began anyway
        if log[begin:place].strip():
            result.append(BootLines(name, start, log[begin:place]))
        begin, name, start, mark = end, label, first, place
        head = head if back else place
    return result


def _going_back(log: str) -> Iterator[int]:
    before = 0
    for found in _SINCE_BOOT.finditer(log):
        now = int(found[1])
        if now < before - _BACK:
            yield found.start()
        before = now


def dated(log: str) -> Tuple[str, str]:
    """Return the first and the last time of a log. They are dates where the log has dates or tells when its clock was
    set, else as printed."""
    first, last = span(log)
    clock = _CLOCK.search(log)
    if clock and re.fullmatch(r"\d{1,9}\.\d{1,9}", first):
        first = f"{clock[2]} {clock[3]} UTC"
        last = f"{last} s after boot" if re.fullmatch(r"\d{1,9}\.\d{1,9}", last) else last
    return first, last
