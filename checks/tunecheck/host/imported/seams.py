"""Finds where one output ends and the next begins in a paste without prompts: `cat topo.txt lspci.txt dmesg.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...parsers.kernel.fragment import messages
from ...parsers.nvidia.topo_matrix import TABLE
from ...parsers.pci.lspci_names import HEADER
from ...util.at_first_use import regex
from .kinds import recognise
from .log_signs import LOG_LINE, SAID, SHORT_SAID
from .posts import kinds

__all__ = ["parts"]

_LOG = "kernel log"
#: How an output begins, or each of its lines. What stands between two of these belongs to the one before.
_SIGNS = (
    ("lspci", regex(HEADER.pattern, re.MULTILINE)),
    ("nvidia-smi -q", regex(r"^=+NVSMI LOG=+|^<\?xml [^\n]{0,200}\n<!DOCTYPE nvidia|^<nvidia_smi_log>", re.MULTILINE)),
    ("topo", TABLE),
    ("nvidia-smi", regex(r"^(?:\w{3} \w{3} +\d[^\n]{0,40}\n)?\+-{20,}\+\s*\n\| NVIDIA-SMI ", re.MULTILINE)),
    ("numactl -H", regex(r"^available: \d+ nodes?\b", re.MULTILINE)),
    ("lscpu", regex(r"^Architecture:[ \t]+\S", re.MULTILINE)),
    ("/proc/cmdline", regex(r"^BOOT_IMAGE=\S+ [^\n]*$", re.MULTILINE)),
    ("/proc/driver/nvidia/version", regex(r"^NVRM version:", re.MULTILINE)),
)
_NVRM = regex(r"^NVRM: |^nvidia-nvswitch\d{1,3}: SXid ", re.MULTILINE)
#: Without one of these there is at most a kernel log, which may be long.
_OTHER = ("NVSMI LOG", "<nvidia_smi_log>", "GPU0", "NVIDIA-SMI", "available: ", "Architecture:", "BOOT_IMAGE=",
          "NVRM version:", "Host bridge", "PCI bridge", "VGA compat", "3D contr", "Display contr", "Processing acc")
#: "=== dmesg ===", "+ sudo lspci -vvv", "dmesg:": what a person or a script writes above an output.
_TITLE = regex(r"(?:^|\n)(?:[ \t=#*+$>~:-]*((?:sudo +)?(?:/\S{1,60}/)?"
               r"(?:nvidia-smi|lspci|dmesg|journalctl|numactl|lscpu|cat)\b[^\n]{0,100}?)[ \t=#*:-]*"
               r"|(?:[=#*+~-]{2,} ?)(?:[^\n]{1,80}? ?)[=#*+~-]{2,})\n\s*\Z")
_ABOVE = 300


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the command named above it or "", text) of each output. A text with only one kind in it is not cut.
    Nothing gets lost: the parts and the titles between them are the whole text."""
    begins = _begins(text) if any(word in text for word in _OTHER) else []
    if len(begins) < 2:
        yield "", text
        return
    titles = [_title(text, before, begin) for before, begin in zip([0, *begins], begins, strict=False)]
    for number, ((title, _), begin) in enumerate(zip(titles, begins, strict=True)):
        end = titles[number + 1][1] if number + 1 < len(begins) else len(text)
        yield title, text[begin if number else 0:end]


def _begins(text: str) -> list[int]:
    """Return where outputs of known kinds begin. A part of no known kind belongs to the output before it."""
    starts = list(_starts(text))
    found, last = list[int](), ""
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=False):
        block = text[begin:_title(text, begin, end)[1]]
        kind = recognise(block) or next(kinds(block), "")
        if kind and kind != last:
            found.append(begin)
            last = kind
    return found


def _starts(text: str) -> Iterator[int]:
    """Yield where the signs change, from the first sign on."""
    signs = [(found.start(), kind) for kind, sign in _SIGNS for found in sign.finditer(text)]
    signs += [(found.start(), _LOG) for sign in (LOG_LINE, SAID, SHORT_SAID, _NVRM) for found in sign.finditer(text)]
    signs += [(begin, _LOG) for begin in messages(text)]
    before = ""
    for begin, kind in sorted(signs):
        if kind != before:
            yield begin
        before = kind


def _title(text: str, after: int, begin: int) -> tuple[str, int]:
    """Return the title right above ``begin``, and where it starts. Without a title that is "" and ``begin``."""
    found = _TITLE.search(text, max(after, begin - _ABOVE), begin)
    return (found.group(1) or "", found.start()) if found else ("", begin)
