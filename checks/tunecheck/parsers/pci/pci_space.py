"""Memory of PCI devices (BARs) that found no place in the address space, as the kernel log tells it.

Lines of drivers/pci/setup-res.c (pci_assign_resource()), "BAR 1: no space for [mem size ...]" up to 6.8 and "BAR 1 [mem
size ...]: can't assign; no space" from 6.9 on, and of NVIDIA's nv.c, which refuses a board without its BAR. The kernel
tries more than once, so the last line on a BAR counts. I/O ports, expansion ROMs, BARs of virtual functions and windows
of bridges without a device are left out on healthy machines too; a window that is too small shows at the device behind.
"""

from __future__ import annotations

from dataclasses import field
from typing import Dict, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["Assignments", "Unassigned"]

_BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_BAR = rf"[\w.-]{{1,32}} ({_BDF}): BAR ([0-5])"
_NEW = regex(_BAR + r" \[mem ([^\]]{1,80})\]: (can't assign; no space|failed to assign|assigned)")
_OLD = regex(_BAR + r": (no space for|failed to assign|assigned) \[mem ([^\]]{1,80})\]")
_DRIVER = regex(rf"NVRM: BAR([0-5]) is \d{{1,9}}M @ 0x[0-9a-f]{{1,16}} \(PCI:({_BDF})\)")
_SIZE = regex(r"size (0x[0-9a-f]{1,16})")
_MOST = 512


@dataclass(frozen=True)
class Unassigned:
    """One BAR of one device that has no address. ``size`` in bytes, 0 where the log does not tell it. ``refused``: the
    NVIDIA driver does not take the board for it."""

    bdf: str
    bar: int
    size: int
    when: str
    refused: bool = False


@dataclass
class Assignments:
    """Collects the BARs of a log line by line."""

    _open: Dict[Tuple[str, int], Unassigned] = field(default_factory=dict)

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was about a BAR's place."""
        driver = _DRIVER.match(line.text)
        if driver:
            self._add(driver[2], int(driver[1]), "", line.when, True)
            return True
        new = _NEW.match(line.text)
        old = None if new else _OLD.match(line.text)
        if new:
            bdf, bar, memory, word = new.groups()
        elif old:
            bdf, bar, word, memory = old.groups()
        else:
            return False
        if word == "assigned":
            self._open.pop((bdf, int(bar)), None)
        else:
            self._add(bdf, int(bar), memory, line.when)
        return True

    def result(self) -> Tuple[Unassigned, ...]:
        """Return the BARs without a place at the end of the log."""
        return tuple(self._open.values())

    def _add(self, bdf: str, bar: int, memory: str, when: str, refused: bool = False) -> None:
        known = self._open.get((bdf, bar))
        size = _SIZE.match(memory)
        bytes_ = int(size[1], 16) if size else known.size if known else 0
        if known or len(self._open) < _MOST:
            self._open[bdf, bar] = Unassigned(bdf, bar, bytes_, known.when if known else when,
                                              refused or bool(known and known.refused))
