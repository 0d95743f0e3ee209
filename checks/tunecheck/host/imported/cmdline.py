"""Checks whether the command lines of an import are of one boot: texts of /proc/cmdline, and what the kernel log
prints."""

from __future__ import annotations

import re

from ...util.at_first_use import regex

__all__ = ["apart", "from_log"]

#: "Command line:" is what the boot loader gave, "Kernel command line:" has what the kernel was built with, too.
_COMMAND_LINE = regex(r"\b(?:Command line|Kernel command line): (.*)$", re.MULTILINE)
_FIRST = regex(r"\bCommand line: (.*)$", re.MULTILINE)
#: printk cuts a line at about 1000 characters; a longer command line is not whole in the log.
_WHOLE_LINE = 900
_SHOWN = 60
#: People black out names of disks, in one text and not in the other.
_PRIVATE = regex(r"(?:root|resume|cryptdevice|rd\.luks\.\w+|rd\.lvm\.\w+|ip|nfsroot|BOOT_IMAGE|initrd)=.*")


def from_log(log: str) -> str | None:
    """Return the command line that the log prints, or None where the log does not print it whole."""
    found = _FIRST.search(log)
    return found.group(1) if found and len(found.group(1)) < _WHOLE_LINE else None


def apart(lines: list[str], log: str) -> str | None:
    """Return a sentence where two of these command lines differ, or all the log's from one of them. None where they
    agree."""
    told = [line for line in _COMMAND_LINE.findall(log[:1 << 20])[:4] if len(line) < _WHOLE_LINE]
    for other in lines[1:]:
        if _words(other) != _words(lines[0]):
            return f"two texts of /proc/cmdline: {_difference(lines[0], other)}"
    if lines and told and all(_words(line) != _words(lines[0]) for line in told):
        return f"/proc/cmdline is not the kernel log's command line: {_difference(lines[0], told[0])}"
    return None


def _words(line: str) -> list[str]:
    return [word for word in line.split() if not _PRIVATE.fullmatch(word)]


def _difference(one: str, two: str) -> str:
    first, second = _words(one), _words(two)
    parts = [f"only in the {place}: {' '.join(more)[:_SHOWN]}" for place, more in (
        ("first", [word for word in first if word not in second]),
        ("second", [word for word in second if word not in first])) if more]
    return ", ".join(parts) or "the same words in another order"
