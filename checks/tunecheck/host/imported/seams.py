"""Finds where one output ends and the next begins in a paste without prompts: `cat topo.txt lspci.txt dmesg.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ...errors import UsageError
from ...parsers.kernel.fragment import messages
from ...parsers.nvidia.topo_matrix import TABLE
from ...parsers.pci.lspci_names import HEADER
from ...util.at_first_use import regex
from .kinds import recognise
from .log_signs import LOG_LINE, SAID, SHORT_SAID
from .posts import kinds

__all__ = ["MOST", "parts"]

_LOG = "kernel log"
_DEVICES = ("Host bridge", "PCI bridge", "VGA compat", "3D contr", "Display contr", "Processing acc")
_QUERY = (r"^=+NVSMI LOG=+|^<\?xml [^\n]{0,200}\n<!DOCTYPE nvidia[^\n]{0,200}(?:\n<nvidia_smi_log>)?"
          r"|^<nvidia_smi_log>")
_SWAPS = r"^Filename[ \t]+Type[ \t]+Size[ \t]+Used[ \t]+Priority"
_COMPILER = r"^(nvcc: NVIDIA|Cuda compilation tools, )"
_ROOT = r"^-(?:\+-)?\[[0-9a-f]{4,8}:"
_BOARD = r"^GPU (\d{1,3}): \S.{0,80}? \(UUID: "
_TEST = r"^#\s*(nccl-tests version |nThread \d|Rank +\d+ (?=.*Pid)(?:Group +\d+ )?|Avg bus bandwidth)"
_P2P = (r"^\[?(P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test|P2P Connectivity Matrix"
        r"|(?:Uni|Bi)directional P2P=(?:Dis|En)abled Bandwidth[^\n]{0,20}|P2P=(?:Dis|En)abled Latency[^\n]{0,20})")
_COPIES = r"^(nvbandwidth Version:|Running \w+\.)"
_MODULE = r"^(Module +Size +Used by\b|(?:nvidia(?:_\w{2,12})?|nouveau|nova_core) +(?=\d{4,9} +\d{1,6}))"
_NODE = r"^c[rwxsStT-]{9}[.+@]? .{1,150}?(nvidia\S*)[ \t]*$|^ls: .{0,20}/dev/nvidia.{0,40}: No such file"
_SLOT = r"^(?:(?:Slot|Device):[ \t]+)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:[ \t]*$| \"[^\"\n]*\" \")"
#: kind -> (words without which nothing of it is there, how an output begins or each of its lines). What stands between
#: two of these belongs to the one before.
_SIGNS = (
    ("lspci", _DEVICES, regex(HEADER.pattern, re.MULTILINE)),
    ("nvidia-smi -q", ("NVSMI LOG", "nvidia_smi_log"), regex(_QUERY, re.MULTILINE)),
    ("topo", ("GPU0",), TABLE),
    ("nvidia-smi", ("NVIDIA-SMI",),
     regex(r"^(?:\w{3} \w{3} +\d[^\n]{0,40}\n)?\+-{20,}\+\s*\n\| NVIDIA-SMI ", re.MULTILINE)),
    ("numactl -H", ("available: ",), regex(r"^available: \d+ nodes?\b", re.MULTILINE)),
    ("lscpu", ("Architecture:",), regex(r"^Architecture:[ \t]+\S", re.MULTILINE)),
    ("/proc/cmdline", ("BOOT_IMAGE=",), regex(r"^BOOT_IMAGE=\S+ [^\n]*$", re.MULTILINE)),
    ("/proc/driver/nvidia/version", ("NVRM version:",), regex(r"^NVRM version:", re.MULTILINE)),
    ("/proc/driver/nvidia/params", ("ResmanDebugLevel:",), regex(r"^ResmanDebugLevel: ", re.MULTILINE)),
    ("/proc/swaps", ("Priority",), regex(_SWAPS, re.MULTILINE)),
    ("systemctl show", ("DefaultLimitMEMLOCK=",), regex(r"^DefaultLimitMEMLOCK=", re.MULTILINE)),
    ("sysfs values", ("/sys/",), regex(r"^/(?:sys|proc/sys)/(?:[\w.-]+/)+[\w.-]+:", re.MULTILINE)),
    ("nvidia-smi -L", ("(UUID: ",), regex(_BOARD, re.MULTILINE)),
    ("nccl-tests", ("# nThread", "# nccl-tests", " Pid "), regex(_TEST, re.MULTILINE)),
    ("p2pBandwidthLatencyTest", ("P2P",), regex(_P2P, re.MULTILINE)),
    ("nvbandwidth", ("nvbandwidth Version", "_memcpy_"), regex(_COPIES, re.MULTILINE)),
    ("lsmod", ("Used by", "nvidia", "nouveau"), regex(_MODULE, re.MULTILINE)),
    ("modinfo", ("filename: ",), regex(r"^filename: +\S*/nvidia(?:-current)?\.ko", re.MULTILINE)),
    ("nvcc --version", ("Cuda comp",), regex(_COMPILER, re.MULTILINE)),
    ("ls /dev/nvidia*", ("/dev/nvidia",), regex(_NODE, re.MULTILINE)),
    ("lspci -m", ("Slot:", '" "'), regex(_SLOT, re.MULTILINE)),
    ("lspci -t", ("-[",), regex(_ROOT, re.MULTILINE)),
)
#: kind -> lines that stand in one output once, where they are others than above. A group tells several of them apart.
_ONCE = {
    "lspci": regex(r"^(?:0000:)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) \S.*?: \S", re.MULTILINE),
    "nvidia-smi": regex(r"^(?:\w{3} \w{3} +\d[^\n]{0,40}\n)?(?:\+-{20,}\+\s*\n)?"
                        r"\|? ?NVIDIA-SMI +(?:\d{3}\.|N/A)", re.MULTILINE),
    "modinfo": regex(r"^(filename): ", re.MULTILINE),
}
#: Those of which one output has many, with the same beginning: a file of several lines, the tables of one command.
_MANY = ("topo", "sysfs values")
#: How an engine's log begins: the first of them that is in it. The others come again for each of its workers.
_ENGINE = ("API server version", "server_args=", "LLM engine (v")
_NVRM = regex(r"^NVRM: |^nvidia-nvswitch\d{1,3}: SXid ", re.MULTILINE)
#: "=== dmesg ===", "+ sudo lspci -vvv", "dmesg:": what a person or a script writes above an output.
_TITLE = regex(r"(?:^|\n)(?:[ \t=#*+$>~:-]*((?:sudo +)?(?:/\S{1,60}/)?"
               r"(?:nvidia-smi|lspci|dmesg|journalctl|numactl|lscpu|cat)\b[^\n]{0,100}?)[ \t=#*:-]*"
               r"|(?:[=#*+~-]{2,} ?)(?:[^\n]{1,80}? ?)[=#*+~-]{2,})\n\s*\Z")
_ABOVE = 300
#: Outputs in one text, as files in a folder.
MOST = 2000
#: How often in a row a line that comes again may begin nothing.
_TRIES = 20


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the command named above it or "", text) of each output. A text with only one output in it is not cut.
    Nothing gets lost: the parts and the titles between them are the whole text."""
    # Without a word of the others there is at most a kernel log, which may be long.
    there = [kind for kind, words, _ in _SIGNS if any(word in text for word in words)]
    begins = _cuts(text, there) if there or any(word in text for word in _ENGINE) else []
    if len(begins) < 2:
        yield "", text
        return
    titles = [_title(text, before, begin) for before, begin in zip([0, *begins], begins, strict=False)]
    for number, ((title, _), begin) in enumerate(zip(titles, begins, strict=True)):
        end = titles[number + 1][1] if number + 1 < len(begins) else len(text)
        yield title, text[begin if number else 0:end]


def _cuts(text: str, there: list[str]) -> list[int]:
    """Return where outputs begin: of another kind than the one before, and of the same kind."""
    begins = _begins(text, there) or [0]
    found = list[int]()
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        found += [begin, *islice(_again(text, there, begin if found else 0, end), MOST)]
        if len(found) > MOST:
            raise UsageError(f"one text holds more than {MOST} outputs; expected those of one machine: keep the last "
                             "of each")
    return found


def _again(text: str, there: list[str], begin: int, end: int) -> Iterator[int]:
    """Yield where the next output of one kind begins: at its head, or at a line that an output has once and this one
    had before."""
    marks = sorted((found.start(), kind, found.group(found.lastindex) if found.lastindex else "")
                   for kind, mark in _marks(text, there) for found in mark.finditer(text, begin, end))
    following, after = list[int](), dict[tuple[str, str], int]()
    for place, kind, mark in reversed(marks):
        following.append(after.get((kind, mark), end))
        after[kind, mark] = place
    seen = set[tuple[str, str]]()
    last, tries = begin, _TRIES
    for (place, kind, mark), until in zip(marks, reversed(following), strict=True):
        if (kind, mark) in seen and tries:
            # No farther than the same line comes again: the text may be nothing but such lines.
            if kind in _kinds(text[last:place]) and kind in _kinds(text[place:until]):
                yield place
                last, tries = place, _TRIES
                seen.clear()
            else:
                tries -= 1
        seen.add((kind, mark))


def _marks(text: str, there: list[str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the kinds that may be in a text, and what their outputs hold once."""
    first = next((word for word in _ENGINE if word in text), "")
    if first:
        yield "engine log", re.compile(rf"^[^\n]{{0,300}}?{re.escape(first)}", re.MULTILINE)
    for kind, _, sign in _SIGNS:
        if kind in there and kind not in _MANY:
            yield kind, _ONCE.get(kind, sign)


def _kinds(text: str) -> list[str]:
    """Return every kind that a text is or holds."""
    return [*([kind] if (kind := recognise(text)) else []), *kinds(text)]


def _begins(text: str, there: list[str]) -> list[int]:
    """Return where outputs of known kinds begin. A part of no known kind belongs to the output before it."""
    starts = list(_starts(text, there))
    found, last = list[int](), ""
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=False):
        block = text[begin:_title(text, begin, end)[1]]
        kind = recognise(block) or next(kinds(block), "")
        if kind and kind != last:
            found.append(begin)
            last = kind
    return found


def _starts(text: str, there: list[str]) -> Iterator[int]:
    """Yield where the signs change, from the first sign on."""
    signs = [(found.start(), kind) for kind, _, sign in _SIGNS if kind in there
             for found in sign.finditer(text)]
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
