"""Lines of a kernel log, whatever printed it: dmesg (plain, -T, -x, -H), journalctl short and short-monotonic.

Every printer puts other things in front of the same message; a message is only trusted at the start of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["HEAD", "LEFT_OUT", "MAX_CHARS", "Line", "bounded", "line", "lines", "without_middle"]

#: A log is judged by at most this much: its first MiB, where the boot is, and the rest from its end.
MAX_CHARS = 16 << 20
HEAD = 1 << 20
LEFT_OUT = "[tunecheck: the middle is left out here]"

#: No message of interest is longer; printk itself ends at 1 KiB.
_MAX_LINE = 2000

# Only lines that hold one of these are looked at: 100 MB of other messages must cost next to nothing.
_KEY = re.compile(r"NVRM: |AER|PCIe Bus Error|DPC: | error status/mask=| blocked |_OSC|Nvlink Core|\[nvidia"
                  r"|\[Hardware Error\]:|BAR [0-5]| SXid ")
_PREFIX = re.compile(
    r"\s*(?:<\d{1,3}>)?"
    r"(?:[a-z0-9]{1,10}\s{0,6}:[a-z]{1,8}\s{0,6}:\s)?"          # dmesg -x: facility and level
    r"(?:(?P<when>\[[ +]{0,12}\d{1,9}\.\d{1,9}\]|\[[A-Z][a-z]{2} [^\]]{1,30}\]"   # [1.5] [Sun Feb 23 16:24:18 2025]
    r"|\d{4}-\d\d-\d\d[T ][0-9:.,]{8,20}(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:\s|(?=\[)))?"
    r"(?:\[ {0,4}[TC]\d{1,8}\]\s)?"                             # CONFIG_PRINTK_CALLER
    r"(?:(?:[^\s:]{1,255} )?kernel:\s)?"
    r"(?:(?P<inner>\[ {0,8}\d{1,9}\.\d{1,9}\])\s)?")


@dataclass(frozen=True)
class Line:
    """``number`` grows from line to line, ``when`` is the time as printed or empty, ``text`` the message."""

    number: int
    when: str
    text: str


def bounded(log: str) -> tuple[str, bool]:
    """The part of a log that is judged, and whether something in its middle is missing."""
    short = without_middle(log)
    return short, f"\n{LEFT_OUT}\n" in short


def without_middle(log: str, most: int = MAX_CHARS) -> str:
    """The log itself, or where it is longer than ``most`` characters its first MiB and its end."""
    if len(log) <= most:
        return log
    return f"{log[:HEAD]}\n{LEFT_OUT}\n{log[HEAD + 3 + len(LEFT_OUT) - most:]}"


def lines(log: str) -> Iterator[Line]:
    """The lines worth a look, in order, without what the printer put in front."""
    # None of them is shorter; a log of nothing but short lines is passed over without a step for each.
    for number, found in enumerate(re.finditer(r"[^\r\n]{16,}", log)):
        raw = found.group()[:_MAX_LINE]
        if _KEY.search(raw):
            yield line(raw, number)


def line(raw: str, number: int = 0) -> Line:
    """One line of a log, taken apart."""
    prefix = _PREFIX.match(raw)
    if prefix is None:
        return Line(number, "", raw)
    when = (prefix["when"] or prefix["inner"] or "").strip("[]").strip()
    return Line(number, when, raw[prefix.end():])
