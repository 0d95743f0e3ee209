"""Lines of a kernel log, whatever printed it: dmesg and journalctl in every time format and language, syslog files.

Every printer puts other things in front of the same message; a message is only trusted at the start of what is left.
Where what stands in front is not known, a message of the NVIDIA driver still counts, unless another program says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ...util.at_first_use import dataclass, regex
from .repeats import counted

__all__ = ["HEAD", "KEY", "LEFT_OUT", "MAX_CHARS", "Line", "begins", "bounded", "line", "lines", "span",
           "without_middle"]

#: A log is judged by at most this much: its first MiB, where the boot is, and the rest from its end.
MAX_CHARS = 16 << 20
HEAD = 1 << 20
LEFT_OUT = "[tunecheck: the middle is left out here]"

#: No message of interest is longer; printk itself ends at 1 KiB.
_MAX_LINE = 2000

# Only lines that hold one of these are looked at: 100 MB of other messages must cost next to nothing.
KEY = regex(r"NVRM: |AER|PCIe Bus Error|DPC: | error status/mask=| blocked |_OSC|Nvlink Core|\[nvidia"
            r"|\[Hardware Error\]:|BAR [0-5]| SXid |Kernel panic|firmware load for nvidia"
            r"|probe with driver nvidia failed|nvidia: probe of |EDAC |pciehp: |ut of memory"
            r"|DMAR: \[|AMD-Vi: Event|: soft lockup|hard LOCKUP|task:.{1,64}? state:"
            r"| change power state from |available PCIe bandwidth|nvidia [0-9a-f]{4}:")
_PREFIX = regex(
    r"\s*(?:<\d{1,3}>)?"
    r"(?:[a-z0-9]{1,10}\s{0,6}:[a-z]{1,8}\s{0,6}:\s)?"          # dmesg -x: facility and level
    # [1.5] [+0,5] [1.5 <0.1>] [<0.1>] [Sun Feb 23 16:24:18 2025] [So Feb 23 16:24:18 2025] [Feb23 16:24]
    r"(?:(?P<when>\[[ +]{0,12}\d{1,9}[.,]\d{1,9}(?: <[ +]{0,12}\d{1,9}[.,]\d{1,9}>)?\]"
    r"|\[<[ +]{0,12}\d{1,9}[.,]\d{1,9}>\]|\[[^\]\n:]{1,30}\d\d:\d\d[^\]\n]{0,30}\]"
    r"|\d{4}-\d\d-\d\d[T ][0-9:.,]{8,20}(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:\s|(?=\[)))?"
    r"(?:\[ {0,4}[TC]\d{1,8}\]\s)?"                             # CONFIG_PRINTK_CALLER
    r"(?:(?:[^\s:]{1,255} )?kernel(?:\[\d{1,9}\])?:\s)?"
    r"(?:(?P<inner>\[ {0,8}\d{1,9}\.\d{1,9}\])\s)?")
#: A date in any language or seconds since 1970, a host, and the kernel's name: "24. april 16:24:18 box1 kernel: ".
_FOREIGN = regex(
    r"(?P<when>[^\[\]\n:]{0,40}(?:\d\d:\d\d:\d\d[^\s:]{0,20}|\d{9,12}\.\d{1,9})(?: [A-Z]{2,5}(?= )| \d{4}(?= ))?)"
    r"(?: [^\s:]{1,255})? kernel(?:\[\d{1,9}\])?: (?:(?P<inner>\[ {0,8}\d{1,9}\.\d{1,9}\]) )?")
#: How the driver's messages begin; looked for where nobody knows what stands in front.
_OURS = regex(r"NVRM: |nvidia-nvswitch\d{1,3}: SXid |Kernel panic - ")
_FRONT = 300
#: The kernel's own time behind something that nobody knows: what is said of the driver's messages holds for all.
_STAMP = regex(r"\[ {0,8}\d{1,9}\.\d{6}\] ")
#: dmesg -H: each minute once, and then only how far a line is from the one before.
_MINUTE = regex(r"\[([^\W\d]{2,12}\.? {0,2}\d{1,2} \d\d:\d\d)\]")
#: The name of a program in front of its message: "gpud[77]: ", "audit: ". The kernel's own names are none.
_PROGRAM = regex(r"(?:^|\s)(?!kern|kmsg|dmesg|printk)[^\s:]{0,60}[A-Za-z)\]][^\s:]{0,60}: ")
_QUOTES = "\"'`\u2018\u201c\u201e\u00ab(="


@dataclass(frozen=True)
class Line:
    """One line of a log. ``number`` grows from line to line, ``when`` is the time as printed, empty where none or only
    the distance to the line before is; ``text`` is the message, ``count`` for how many equal ones it stands."""

    number: int
    when: str
    text: str
    count: int = 1


def bounded(log: str) -> tuple[str, bool]:
    """Return the part of a log that is judged, and whether something in its middle is missing."""
    short = without_middle(log)
    return short, f"\n{LEFT_OUT}\n" in short


def without_middle(log: str, most: int = MAX_CHARS) -> str:
    """Return the log itself; where it is longer than ``most`` characters, its first MiB and its end."""
    if len(log) <= most:
        return log
    return f"{log[:HEAD]}\n{LEFT_OUT}\n{log[HEAD + 3 + len(LEFT_OUT) - most:]}"


def lines(log: str) -> Iterator[Line]:
    """Yield the lines worth a look, in order, without what the printer put in front."""
    # None of them is shorter; a log of nothing but short lines is passed over without a step for each.
    minute = ""
    for number, found in enumerate(re.finditer(r"[^\r\n]{16,}", log)):
        raw = found.group()[:_MAX_LINE]
        if raw[0] == "[" and (begun := _MINUTE.match(raw)):
            minute = begun[1]
        if KEY.search(raw):
            made = line(raw, number)
            yield Line(number, minute, made.text, made.count) if minute and not made.when else made


def line(raw: str, number: int = 0) -> Line:
    """Take one line of a log apart into time and message."""
    prefix = _PREFIX.match(raw)
    end = prefix.end() if prefix else 0
    when = (prefix["when"] or prefix["inner"] or "") if prefix else ""
    if not end or not when:
        foreign = _FOREIGN.match(raw)
        if foreign:
            end, when = foreign.end(), foreign["when"] or foreign["inner"]
    stamp = _STAMP.search(raw, end, end + _FRONT) if not when else None
    if stamp and _unknown_printer(raw[end:stamp.start()]):
        end, when = stamp.end(), stamp.group().strip()
    ours = _OURS.search(raw, end, end + _FRONT)
    if ours and ours.start() > end and _unknown_printer(raw[end:ours.start()]):
        end = ours.start()
    when = when.strip("[]").strip()
    # dmesg --reltime, -d: "+0.000005" is the time since the line before, and says nothing on its own.
    return Line(number, "" if when.lstrip("<").lstrip().startswith("+") else when, *counted(raw[end:]))


def begins(front: str) -> bool:
    """Return whether what stands in front of a message is nothing but what a printer of logs puts there."""
    return not line(front + "\0").text.strip("\0")


def _unknown_printer(front: str) -> bool:
    """Return whether ``front`` may stand in front of a kernel message: it holds no other program's name and does not
    end in a quotation mark."""
    return front.rstrip()[-1:] not in _QUOTES and _PROGRAM.search(front) is None


def span(log: str) -> tuple[str, str]:
    """Return the first and the last time in a log, as printed; empty where it has none."""
    return _time(log[:_LOOK].splitlines()), _time(reversed(log[-_LOOK:].splitlines()))


#: As far as a time is looked for at either end.
_LOOK = 20_000


def _time(some: Iterable[str]) -> str:
    return next((found for raw in islice(some, 100) if (found := line(raw[:_MAX_LINE]).when)), "")
