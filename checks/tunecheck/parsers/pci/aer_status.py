"""Which PCIe errors a device has latched: Device Status, and AER's uncorrectable and correctable status registers.

The bits stay until somebody clears them (RW1C, AER's also over a reset), which the kernel or the firmware does when it
handles an error. Names as lspci prints them (pciutils ls-ecaps.c: cap_aer), bits as in include/uapi/linux/pci_regs.h.
"""

from __future__ import annotations

from typing import Dict, Tuple

from ...model.absence import Absence
from ...util.at_first_use import regex
from .aer_names import CORRECTABLE, UNCORRECTABLE
from .config_space import ConfigUnreadable, NotGiven, config_is_all_ones, find_capability, find_extended

__all__ = ["NAMES", "NOT_GIVEN", "latched", "read_status", "status_bytes"]

NAMES: Dict[str, Dict[str, int]] = {
    "DevSta": {"CorrErr": 0, "NonFatalErr": 1, "FatalErr": 2},
    "UESta": {error.in_lspci: error.bit for error in UNCORRECTABLE},
    "CESta": {error.in_lspci: error.bit for error in CORRECTABLE},
}
#: What every lspci prints; the names behind them came with pciutils 3.13 (2024), and with them the second line.
_ALWAYS = {"DevSta": ("CorrErr", "NonFatalErr", "FatalErr"), "UESta": tuple(NAMES["UESta"])[:12],
           "CESta": tuple(NAMES["CESta"])[:6]}
#: Before pciutils 3.6 (2018).
_OLDER = {"UncorrErr": "NonFatalErr"}
_OLDER_CORRECTABLE = {"NonFatalErr": "AdvNonFatalErr"}
#: No register of an existing device reads like this; an import puts it where a text does not show one.
NOT_GIVEN = 0xFFFFFFFF
_AER, _EXPRESS, _CONVENTIONAL, _EXTENDED = 0x0001, 0x10, 256, 4096
_FLAG = regex(r"\b([A-Z]\w{1,20})([+-])(?![\w+-])")


def read_status(codes: Dict[str, int], line: str) -> None:
    """Add ``DevSta:``, ``UESta:`` or ``CESta:`` of `lspci -vvv` to ``codes`` as a register. ``line`` has all lines of
    it: pciutils 3.13 and later print UESta on three. A register of which a flag is missing is not added."""
    register, _, flags = line[:600].partition(":")
    if register in NAMES:
        older = _OLDER_CORRECTABLE if register == "CESta" else _OLDER
        found = {older.get(name, name): sign for name, sign in _FLAG.findall(flags)}
        codes.pop(register, None)
        if all(name in found for name in _ALWAYS[register]):
            codes[register] = sum(1 << bit for name, bit in NAMES[register].items() if found.get(name) == "+")


def status_bytes(codes: Dict[str, int]) -> bytes:
    """Return the AER capability from its second word on, up to the correctable status: 16 bytes."""
    return b"".join(value.to_bytes(4, "little") for value in (
        codes.get("UESta", NOT_GIVEN), 0, 0, codes.get("CESta", NOT_GIVEN)))


def latched(config: bytes) -> Tuple[str, ...]:
    """Return the errors that are latched, ("UESta DLP", ...). ConfigUnreadable where the registers cannot be seen."""
    if config_is_all_ones(config):
        raise ConfigUnreadable("the device does not answer (its configuration space reads ff)", Absence.LOST)
    if len(config) < _CONVENTIONAL:
        raise ConfigUnreadable("no permission (only %d bytes of the configuration space)" % len(config),
                               Absence.NO_PERMISSION)
    at = find_extended(config, _AER) if len(config) >= _EXTENDED else None
    if at is None:
        express = find_capability(config, _EXPRESS)
        if express is None:
            return ()       # conventional PCI: no link of its own
        if express + 12 > _CONVENTIONAL:
            raise NotGiven("express", "no error register is given")
        status = int.from_bytes(config[express + 10:express + 12], "little")
        return _names("DevSta", status)
    uncorrectable, correctable = (int.from_bytes(config[at + place:at + place + 4], "little") for place in (4, 0x10))
    if NOT_GIVEN in (uncorrectable, correctable):
        raise NotGiven("aer", "AER's status registers are not given")
    return _names("UESta", uncorrectable) + _names("CESta", correctable)


def _names(register: str, value: int) -> Tuple[str, ...]:
    return tuple("%s %s" % (register, name) for name, bit in NAMES[register].items() if value >> bit & 1)
