"""Which PCIe errors a device has latched: Device Status, and AER's uncorrectable and correctable status registers.

The bits stay until somebody clears them (RW1C, AER's also over a reset), which the kernel or the firmware does when it
handles an error. Names as lspci prints them (pciutils ls-ecaps.c: cap_aer), bits as in include/uapi/linux/pci_regs.h.
"""

from __future__ import annotations

import re
from typing import Dict, Tuple

from .pci import ConfigUnreadable, config_gone, find_capability, find_extended

__all__ = ["NAMES", "NOT_GIVEN", "latched", "read_status", "status_bytes"]

NAMES: Dict[str, Dict[str, int]] = {
    "DevSta": {"CorrErr": 0, "NonFatalErr": 1, "FatalErr": 2},
    "UESta": {"DLP": 4, "SDES": 5, "TLP": 12, "FCP": 13, "CmpltTO": 14, "CmpltAbrt": 15, "UnxCmplt": 16, "RxOF": 17,
              "MalfTLP": 18, "ECRC": 19, "UnsupReq": 20, "ACSViol": 21},
    "CESta": {"RxErr": 0, "BadTLP": 6, "BadDLLP": 7, "Rollover": 8, "Timeout": 12, "AdvNonFatalErr": 13},
}
#: No register of an existing device reads like this; an import puts it where a text does not show one.
NOT_GIVEN = 0xFFFFFFFF
_AER, _EXPRESS, _CONVENTIONAL, _EXTENDED = 0x0001, 0x10, 256, 4096
_FLAG = re.compile(r"\b([A-Z]\w{1,20})([+-])")


def read_status(codes: Dict[str, int], line: str) -> None:
    """Add ``DevSta:``, ``UESta:`` or ``CESta:`` of `lspci -vvv` to ``codes`` as a register."""
    register, _, flags = line[:400].partition(":")
    if register in NAMES:
        found = dict(_FLAG.findall(flags))
        if all(name in found for name in list(NAMES[register])[:3]):
            codes[register] = sum(1 << bit for name, bit in NAMES[register].items() if found.get(name) == "+")


def status_bytes(codes: Dict[str, int]) -> bytes:
    """The AER capability from its second word on, up to the correctable status: 16 bytes."""
    return b"".join(value.to_bytes(4, "little") for value in (
        codes.get("UESta", NOT_GIVEN), 0, 0, codes.get("CESta", NOT_GIVEN)))


def latched(config: bytes) -> Tuple[str, ...]:
    """The errors that are latched, ("UESta DLP", ...). ConfigUnreadable where the registers cannot be seen."""
    if config_gone(config):
        raise ConfigUnreadable("the device does not answer (its configuration space reads ff)")
    if len(config) < _CONVENTIONAL:
        raise ConfigUnreadable("no permission (only %d bytes of the configuration space)" % len(config))
    at = find_extended(config, _AER) if len(config) >= _EXTENDED else None
    if at is None:
        express = find_capability(config, _EXPRESS)
        if express is None:
            return ()       # conventional PCI: no link of its own
        if express + 12 > _CONVENTIONAL:
            raise ConfigUnreadable("no error register is given")
        status = int.from_bytes(config[express + 10:express + 12], "little")
        return _names("DevSta", status)
    uncorrectable, correctable = (int.from_bytes(config[at + place:at + place + 4], "little") for place in (4, 0x10))
    if NOT_GIVEN in (uncorrectable, correctable):
        raise ConfigUnreadable("AER's status registers are not given")
    return _names("UESta", uncorrectable) + _names("CESta", correctable)


def _names(register: str, value: int) -> Tuple[str, ...]:
    return tuple("%s %s" % (register, name) for name, bit in NAMES[register].items() if value >> bit & 1)
