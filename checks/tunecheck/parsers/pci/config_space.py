"""PCI configuration space as sysfs gives it (/sys/bus/pci/devices/<bdf>/config): its lists of capabilities.

The layout is that of the PCIe base specification and include/uapi/linux/pci_regs.h. Without root the kernel hands out
only the first 64 bytes.
"""

from __future__ import annotations

from typing import Optional

from ...model.absence import Absence

__all__ = ["CONVENTIONAL", "EXTENDED", "ConfigUnreadable", "NotGiven", "config_is_all_ones", "find_capability",
           "find_extended", "without_serial_number"]

#: Bytes of the space of conventional PCI, and of PCI Express.
CONVENTIONAL = 256
EXTENDED = 4096
_ECAP_SERIAL = 0x0003


class ConfigUnreadable(ValueError):  # noqa: N818 - it names a state of the bytes
    """The bytes do not reach as far as the question. The message is the reason, fit for a report; ``absence`` is its
    code."""

    def __init__(self, message: str, absence: Absence = Absence.UNREADABLE) -> None:
        self.absence = absence
        super().__init__(message)


class NotGiven(ConfigUnreadable):
    """Whoever made these bytes did not know a part of the space: ``part`` is "acs", "express" or "aer"."""

    def __init__(self, part: str, message: str) -> None:
        self.part = part
        super().__init__(message, Absence.NOT_IN_IMPORT)


def config_is_all_ones(config: bytes) -> bool:
    """Return whether the device does not answer: reads of a device that fell off the bus give all ones."""
    return len(config) >= 4 and config[:4] == b"\xff\xff\xff\xff"


def find_capability(config: bytes, wanted: int) -> Optional[int]:
    """Return where the conventional capability ``wanted`` lies in at least 256 bytes. None where there is none."""
    if not config[6] & 0x10:        # status register: no capability list
        return None
    offset, seen = config[0x34] & 0xFC, 0
    while 0x40 <= offset < CONVENTIONAL - 1 and seen < 48:     # 48 fit; more is a loop
        if config[offset] == wanted:
            return offset
        offset, seen = config[offset + 1] & 0xFC, seen + 1
    return None


def without_serial_number(config: bytes) -> bytes:
    """Return the same bytes with the number in the Device Serial Number capability zeroed: it is a MAC address,
    mostly."""
    offset = find_extended(config, _ECAP_SERIAL) if len(config) >= EXTENDED else None
    return config if offset is None else (config[:offset + 4] + bytes(8) + config[offset + 12:])[:len(config)]


def find_extended(config: bytes, wanted: int) -> Optional[int]:
    """Return where the extended capability ``wanted`` lies in 4096 bytes. None where there is none, or the list is a
    loop."""
    offset, seen = 0x100, 0
    while 0x100 <= offset <= EXTENDED - 8 and seen < 480:
        header = int.from_bytes(config[offset:offset + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == wanted:
            return offset
        offset, seen = header >> 20 & 0xFFC, seen + 1
    return None
