"""What ``lspci -m``, ``-mm``, ``-vm`` and ``-vmm`` print for scripts, turned into what plain ``lspci -k`` prints.

``-vmm`` is a record of "Tag:<tab>value" lines for each device, an empty line behind each; ``-m`` and ``-mm`` are one
line with quoted words. Checked against pciutils 3.9 to 3.14 (lspci.c, show_machine).
"""

from __future__ import annotations

import re
import shlex
from typing import Dict, List, Optional

from ...util.at_first_use import regex

__all__ = ["MACHINE", "listing"]

_SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
#: The first lines of a record, or a device in one line.
MACHINE = regex(rf"^Slot:[ \t]+{_SLOT}[ \t]*\n(?:Class|Vendor|Device):[ \t]"
                rf"|^Device:[ \t]+{_SLOT}[ \t]*\nClass:[ \t]"
                rf'|^{_SLOT} "[^"\n]{{1,80}}" "[^"\n]{{1,120}}" "', re.MULTILINE)
_IS_SLOT = regex(rf"{_SLOT}\Z")
_TAG = regex(r"(Slot|Class|Vendor|Device|SVendor|SDevice|PhySlot|Rev|ProgIf|Driver|Module|NUMANode|IOMMUGroup|DTNode)"
             r":(?:[ \t]+(\S.*?))?[ \t]*\Z")
_LINE = regex(rf'{_SLOT} "')
_NUMBERED = regex(r"(.*?) ?\[([0-9a-f]{4})\]\Z")
_NUMBER = regex(r"[0-9a-f]{4}\Z")
#: Tag -> how plain lspci says it.
_SAID = (("NUMANode", "NUMA node: "), ("IOMMUGroup", "IOMMU group: "), ("Driver", "Kernel driver in use: "),
         ("Module", "Kernel modules: "))
#: For parse_lspci: the first line of a device that cannot be read.
_LOST = "? unknown [0000]: unknown [0000:0000]"
_LONGEST = 1000


def listing(text: str) -> str:
    """Return the same devices as plain lspci prints them. A record without its address, or of which two have run
    together, is one that cannot be read; one without class or ids is a device of which only the address is known."""
    found: List[str] = []
    record: Dict[str, str] = {}
    lines = text.split("\n")
    for line in lines[:-1]:     # a last line without its end may be half a word
        line = line.rstrip() if len(line) <= _LONGEST else ""
        if _LINE.match(line):
            found += _device(record) + _device(_in_one_line(line))
            record = {}
            continue
        tag = _TAG.match(line)
        if tag is None:
            if not line:
                found += _device(record)
                record = {}
            continue
        name, value = tag.group(1), tag.group(2) or ""
        if name == "Device" and _IS_SLOT.match(value):      # -vm, the older form
            name = "Slot"
        if name == "Slot" and record:
            found += _device(record)
            record = {}
        if name == "Module" and name in record:
            value = "%s, %s" % (record[name], value)
        elif name in record:        # the rest is another device's
            found += [*_device(record), _LOST]
            record = {}
            continue
        record[name] = value
    found += _device(record)
    whole = len(lines) > 2 and lines[-1] == "" and (not lines[-2].strip() or _LINE.match(lines[-2]) is not None)
    return "\n".join(found) + ("\n\n" if whole else "\n\t")      # the second ends inside a line


def _in_one_line(line: str) -> Dict[str, str]:
    try:
        words = [word for word in shlex.split(line) if not re.match(r"-[rp][0-9a-f]{2}\Z", word)]
    except ValueError:      # an open quote: the line was cut
        words = line.split(" ", 1)[:1]
    return dict(zip(("Slot", "Class", "Vendor", "Device"), words))  # noqa: B905


def _device(record: Dict[str, str]) -> List[str]:
    if not record:
        return []
    slot = record.get("Slot", "")
    if not _IS_SLOT.match(slot):
        return [_LOST]
    head = _head(record)
    lines = ["%s %s" % (slot, head) if head else slot]
    lines += ["\t%s%s" % (said, record[tag]) for tag, said in _SAID if record.get(tag)]
    return [*lines, ""]


def _head(record: Dict[str, str]) -> Optional[str]:
    """Return ``3D controller [0302]: NVIDIA Corporation GH100 [10de:2330]``, or None where a part of it is missing."""
    parts = [record.get(tag, "") for tag in ("Class", "Vendor", "Device")]
    if not all(parts):
        return None
    names, numbers = [], []
    for part in parts:
        numbered = _NUMBERED.match(part)
        name, number = numbered.groups() if numbered else ("", part) if _NUMBER.match(part) else (part, "")
        names.append(name or "Device")
        numbers.append(number)
    kind, vendor, device = numbers
    ids = " [%s:%s]" % (vendor, device) if vendor and device else ""
    return "%s%s: %s %s%s" % (names[0], " [%s]" % kind if kind else "", names[1], names[2], ids)
