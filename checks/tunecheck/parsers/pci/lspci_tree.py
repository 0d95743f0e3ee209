"""``lspci -t``, ``-tv`` and ``-nntv``: the tree of buses as a drawing. Gives each NVIDIA GPU's way up to the root.

A device below a bridge is drawn to the right of it: ``-[0000:00]-+-04.0-[01-05]----00.0-[02]----00.0  NVIDIA ...``.
What stands under one another belongs together by its column. Plain ``-t`` has no names: a tree without GPUs."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from .topology import Chain

__all__ = ["START", "Drawing", "TreeDevice", "parse_tree"]

#: The first line of a host bridge's drawing.
START = regex(r"^[ \t]*(?:-?[-+\\]-|-)\[([0-9a-f]{4,8}):([0-9a-f]{2})(?:-[0-9a-f]{2})?\]-", re.MULTILINE)
_ROOT = regex(r"(?:^|[-+\\ ])-?\[([0-9a-f]{4,8}):([0-9a-f]{2})(?:-[0-9a-f]{2})?\]")
_NODE = regex(r"[-+\\]-+([0-9a-f]{2}\.[0-7])(?:-\[([0-9a-f]{2})(?:-([0-9a-f]{2}))?\])?")
_NAME = regex(r"^ {2}(\S.{0,300})$")
_IDS = regex(r"\[([0-9a-f]{4}):([0-9a-f]{4})\][ \t]*$")
_OTHER = regex(r"\b(?:Audio|USB|UCSI|Serial|NVSwitch|Ethernet|InfiniBand|BlueField|ConnectX|MT\d{5})",
               re.IGNORECASE)
_LINES = 20_000
#: Stands for the column of the host bridges.
_ROOTS = 100_000
_WIDE = 600
_DEVICES = 10_000


@dataclass(frozen=True)
class TreeDevice:
    """One device of the drawing. ``name`` and ``ids`` ("10de:2330") are as printed, "" where they are not; ``chain``
    goes from the root port down."""

    bdf: str
    name: str
    ids: str
    chain: Chain
    bridge: bool

    @property
    def gpu(self) -> bool:
        """Whether the device is a GPU of NVIDIA's, by its name and ids: the drawing has no classes."""
        return (not self.bridge and self.bdf.endswith(".0") and (self.ids.startswith("10de:") or "NVIDIA" in self.name)
                and not _OTHER.search(self.name))


@dataclass(frozen=True)
class Drawing:
    """All devices of a drawing. ``cut``: the drawing ends while a branch goes on, so there are more devices."""

    devices: "Tuple[TreeDevice, ...]"
    cut: bool


def parse_tree(text: str) -> Drawing:
    """Return every device of the drawing. ValueError for a line that cannot be placed: a drawing that a mail program
    wrapped must not become another machine."""
    lines = text[:4 << 20].expandtabs(8).split("\n", _LINES)[:_LINES]
    start = next((number for number, line in enumerate(lines) if START.match(line)), None)
    if start is None:
        raise ValueError("no line that begins with -[0000:00]-")
    found: List[TreeDevice] = []
    #: column of a branch -> (domain, bus, bridges above)
    open_at: Dict[int, Tuple[str, str, Tuple[str, ...]]] = {}
    for number, line in enumerate(lines[start:], start + 1):
        line = line.rstrip()
        if not line.strip():
            if found:
                break
            continue
        if len(line) > _WIDE:
            raise ValueError("line %d is too long for a drawing" % number)
        if not re.match(r"^[ |+\\-]*[-+\\](?:-|\.|\[)", line):
            break
        found += _line(line, number, open_at)
        if len(found) > _DEVICES:
            raise ValueError("more than %d devices" % _DEVICES)
    if not found:
        raise ValueError("no device in the drawing")
    if len({device.bdf for device in found}) != len(found):
        raise ValueError("a device is drawn twice")
    return Drawing(tuple(found), any(column >= 0 for column in open_at))


def _line(line: str, number: int, open_at: "Dict[int, Tuple[str, str, Tuple[str, ...]]]") -> List[TreeDevice]:
    found: List[TreeDevice] = []
    at = 0
    root = _ROOT.search(line)
    where: Optional[Tuple[str, str, Tuple[str, ...]]] = None
    if root and not line[:root.start()].strip(" |-+\\"):
        for column in list(open_at):
            if column != _ROOTS:
                del open_at[column]
        where = (root.group(1), root.group(2), ())
        # "-+-[" begins a list of host bridges, "\\-[" ends it.
        corner = line[:root.start() + 1].rstrip("-[")[-1:]
        open_at.pop(_ROOTS, None)
        if corner == "+":
            open_at[_ROOTS] = where
        at = root.end()
        if line[at:at + 2] == "-+":
            open_at[at + 1] = where
            at += 1
        elif line[at:at + 2] == "--":
            at += 1
    else:
        lead = re.match(r"^[ |]*", line)
        at = lead.end() if lead else 0
        if at not in open_at:
            raise ValueError("line %d begins where no branch is open" % number)
        where = open_at[at]
        for column in list(open_at):
            if column > at or (column == at and line[at:at + 1] == "\\"):
                del open_at[column]
    while where is not None:
        node = _NODE.match(line, at)
        if node is None:
            break
        domain, bus, above = where
        bdf = "%04x:%s:%s" % (int(domain, 16), bus, node.group(1))
        bridge = node.group(2) is not None
        rest = line[node.end():]
        name = _NAME.match(rest) if not bridge else None
        ids = _IDS.search(name.group(1)) if name else None
        host = "pci%s:%s" % (domain, _root_bus(open_at, bus, above))
        found.append(TreeDevice(bdf, name.group(1).strip() if name else "", "%s:%s" % ids.groups() if ids else "",
                                Chain(host, (*above, bdf)), bridge))
        if len(above) > 64:
            raise ValueError("line %d is deeper than PCI can be" % number)
        if not bridge:
            break
        where = (domain, node.group(2), (*above, bdf))
        at = node.end()
        if line[at:at + 2] == "--" and "+" in line[at:at + 8]:
            at = line.index("+", at)
            open_at[at] = where
        elif line[at:at + 2] == "-+":
            at += 1
            open_at[at] = where
    return found


def _root_bus(open_at: "Dict[int, Tuple[str, str, Tuple[str, ...]]]", bus: str, above: "Tuple[str, ...]") -> str:
    return above[0].split(":")[1] if above else bus
