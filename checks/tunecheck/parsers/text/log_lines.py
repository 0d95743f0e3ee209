"""Lines of a kernel log, whatever printed it: dmesg and journalctl in every time format and language, syslog files.

Every printer puts other things in front of the same message; a message is only trusted at the start of what is left.
Where what stands in front is not known, a message of the NVIDIA driver still counts, unless another program says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice

from ...util.at_first_use import dataclass, regex
from .repeats import counted

__all__ = ["HEAD", "KEY", "LEFT_OUT", "MAX_CHARS", "NAMED", "Line", "begins", "bounded", "line", "lines", "span",
           "without_middle"]

#: A log is judged by at most this much: its first MiB, where the boot is, and the rest from its end.
MAX_CHARS = 16 << 20
HEAD = 1 << 20
LEFT_OUT = "[tunecheck: the middle is left out here]"

#: No message of interest is longer; printk itself ends at 1 KiB.
_MAX_LINE = 2000
#: Messages in one line.
_MOST = 10_000

# Only lines that hold one of these are looked at: 100 MB of other messages must cost next to nothing. A word stands for
# itself, or for the pattern behind it, which finds nothing without it.
_WORDS: dict[str, str] = {
    "NVRM: ": "", "AER": "", "PCIe Bus Error": "", "DPC: ": "", " error status/mask=": "", " blocked ": "", "_OSC": "",
    "Nvlink Core": "", "[nvidia": "", "[Hardware Error]:": "", "BAR ": r"BAR [0-5]", " SXid ": "", "Kernel panic": "",
    "firmware load for nvidia": "", "probe with driver nvidia failed": "", "nvidia: probe of ": "", "EDAC ": "",
    "pciehp: ": "", "ut of memory": "", "DMAR: [": "", "AMD-Vi: Event": "", ": soft lockup": "", "hard LOCKUP": "",
    "detected ": r"detected (?:expedited )?stalls? on ", ": (": r"\d-[.!A-Za-z0-9]{3,4}: \(",
    " jiffies": r"[=}] ?\d{1,9} jiffies", "task:": r"task:.{1,64}? state:", " change power state from ": "",
    "available PCIe bandwidth": "", "nvidia ": r"nvidia [0-9a-f]{4}:", ": [10de:": "",
    ":    [": r":    \[[ \d]\d\] [A-Z]",
}
KEY = regex("|".join(pattern or re.escape(word) for word, pattern in _WORDS.items()))
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
#: What only the driver says, with an address: it counts behind everything but another program's name and a quotation.
NAMED = regex(r"NVRM: (?:Xid \((?:PCI:)?[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}[^)\n]{0,40}\): \d"
              r"|GPU [0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]: [A-Za-z])"
              r"|nvidia-nvswitch\d{1,3}: SXid \((?:PCI:)?[0-9a-fA-F]{4,8}:")
#: The kernel's own time behind something that nobody knows: what is said of the driver's messages holds for all.
_STAMP = regex(r"\[ {0,8}\d{1,9}\.\d{6}\] ")
#: dmesg -H: each minute once, and then only how far a line is from the one before.
_MINUTE = regex(r"\[([^\W\d]{2,12}\.? {0,2}\d{1,2} \d\d:\d\d)\]")
#: The name of a program in front of its message: "gpud[77]: ", "audit: ". The kernel's own names are none.
_PROGRAM = regex(r"(?:^|\s)(?!kern|kmsg|dmesg|printk)[^\s:]{0,60}[A-Za-z)\]][^\s:]{0,60}: ")
_QUOTES = "\"'`\u2018\u201c\u201e\u00ab(="
#: The kernel's own marks right before a message; behind one of them the message would stand at once.
_MARKS = regex(r"(?:(?:^|(?<=[\s\"'=|,]))kernel(?:\[\d{1,9}\])?: )?(?:\[ {0,8}\d{1,9}\.\d{1,9}\] ?)?\Z")
_KERNEL = regex(r"(?:^|[\s\"'=|,])(?:kernel(?:\[\d{1,9}\])?: |\[ {0,8}\d{1,9}\.\d{1,9}\] )")
#: Where a field of CSV, of key=value or of JSON begins; a sentence has a blank before its quotation mark.
_FIELD = regex(r"(?:^\s*|[=,;|\t]|[\"'][,;:] *)\\?[\"']{1,2}\Z|\|[ \t]{0,9}[\"'`]\Z|[\w\"']=\Z")
#: Who may write what he likes through the kernel.
_AUDIT = regex(r"(?:^|[\s:=])audit(?:\[\d{1,9}\])?[:(]")
#: A program and its process, as syslog has them; or a name at the end, with nothing but a time and a host before it.
_PROCESS = regex(r"(?:^|\s)(?!kern|vmk)[^\s:\[\]]{1,60}\[\d{1,9}\]: ")
_SPEAKER = regex(r"(?i)(?:^|\d\d:\d\d:\d\d\S{0,20}(?: [A-Z]{2,5})? )\s{0,9}(?:[^\s:]{1,255} )?"
                 r"(?!kern|kmsg|dmesg|printk|vmk|klogd|xid|msg|message|text|log|line|emerg|alert|crit|err|warn|notice"
                 r"|info|debug)[^\s:=\"|]{1,60}: \Z")


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
    log = log.replace("\r", "\n")
    minute, places = "", _places(log)
    place = next(places)
    for number, found in enumerate(re.finditer(r"[^\n]{16,}", log)):
        raw = found.group()
        if raw[0] == "[" and (begun := _MINUTE.match(raw)):
            minute = begun[1]
        while place < found.start():
            place = next(places)
        if place < found.end() and KEY.search(raw := _short(raw)):
            made = line(raw, number)
            made = Line(number, minute, made.text, made.count) if minute and not made.when else made
            several = NAMED.match(made.text) is not None and found.group().count("NVRM: Xid (") > 1
            yield from _each(found.group(), made) if several else (made,)


def _places(log: str) -> Iterator[int]:
    """Yield where one of the words stands, in order, and the log's length behind them. To look for each word in the
    whole log is three times as quick as to look for all of them in each line."""
    yield from merge(*(_places_of(word, log) for word in _WORDS))
    yield len(log)


def _places_of(word: str, log: str) -> Iterator[int]:
    """Yield the first place of a word in each line that has it."""
    place = log.find(word)
    while place >= 0:
        yield place
        end = log.find("\n", place)
        place = log.find(word, end) if end >= 0 else -1


def _short(raw: str) -> str:
    """Return the beginning of a line, and of a long one the part where the driver speaks, too."""
    if len(raw) <= _MAX_LINE or "NVRM: Xid (" in raw[:_MAX_LINE] or (place := raw.find("NVRM: Xid (")) < 0:
        return raw[:_MAX_LINE]
    return raw[:_FRONT] + raw[place - _FRONT:place + _MAX_LINE - 2 * _FRONT]


def _each(raw: str, first: Line) -> Iterator[Line]:
    """Yield the messages of the driver in one line: a paste may have lost the ends of its lines."""
    begin = max(0, raw.find(first.text))
    places = [found.start() for found in islice(NAMED.finditer(raw, begin), _MOST)]
    for place, until in zip(places, [*places[1:], len(raw)], strict=True):
        marks = _MARKS.search(raw, max(begin, place - _FRONT), place)
        when = first.when if place == begin else _stamp(marks[0] if marks else "")
        yield Line(first.number, when, raw[place:min(until, place + _MAX_LINE)].rstrip())


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
    elif not _by_kernel(raw[:end]) and (named := NAMED.search(raw, end)) and named.start() > end:
        marks = _MARKS.search(raw, end, named.start())
        begin = marks.start() if marks else named.start()
        if _carries(raw[end:begin]):
            when, end = when or _stamp(raw[begin:named.start()]), named.start()
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


def _by_kernel(front: str) -> bool:
    """Return whether a known front ends with what the kernel's own messages have: seconds since boot, or its name."""
    return front.rstrip().endswith(("]", "kernel:")) or _KERNEL.search(front) is not None


def _carries(front: str) -> bool:
    """Return whether ``front`` is what a shipper of logs, an export or a hypervisor puts before a message of the
    driver: no other program's name, and no sentence that quotes it."""
    if _KERNEL.search(front) or _AUDIT.search(front) or _PROCESS.search(front) or _SPEAKER.search(front):
        return False
    return front.rstrip()[-1:] not in _QUOTES or _FIELD.search(front) is not None


def _stamp(marks: str) -> str:
    return marks[marks.rfind("["):].strip("[] ") if marks.rstrip().endswith("]") else ""


def span(log: str) -> tuple[str, str]:
    """Return the first and the last time in a log, as printed; empty where it has none."""
    return _time(log[:_LOOK].splitlines()), _time(reversed(log[-_LOOK:].splitlines()))


#: As far as a time is looked for at either end.
_LOOK = 20_000


def _time(some: Iterable[str]) -> str:
    return next((found for raw in islice(some, 100) if (found := line(raw[:_MAX_LINE]).when)), "")
