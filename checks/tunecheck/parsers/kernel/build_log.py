"""Finds the line that says why a module did not build, in the log of that build. Pure, for any text."""

from __future__ import annotations

import re

from ...util.at_first_use import regex

__all__ = ["first_error"]

_COMPILER = regex(r"^\S+:\d+(?::\d+)?: (?:fatal )?error: .*$", re.MULTILINE)
#: modpost names a symbol that the kernel no longer exports; the linker, make and configure scripts speak last.
_OTHERS = (regex(r"^ERROR: modpost: .*$", re.MULTILINE), regex(r"^\S*ld\S*: .*(?:undefined|error).*$", re.M),
           regex(r"^(?:\S+: )*\*\*\* .*$", re.MULTILINE), regex(r"^Error! .*$", re.MULTILINE))


def first_error(text: str) -> str:
    """Return the compiler's first error, else modpost's, the linker's, make's or dkms's, else the last line. "" for an
    empty log."""
    for pattern in (_COMPILER, *_OTHERS):
        found = pattern.search(text)
        if found:
            return found.group().strip()[:400]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else ""
