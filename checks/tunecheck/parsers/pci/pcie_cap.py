"""The PCI Express capability in configuration space: payload sizes, link speed and width, ASPM.

Layout: PCIe base specification, "PCI Express Capability Structure", and include/uapi/linux/pci_regs.h. A code that the
specification does not define is None here, never the nearest number.
"""

from __future__ import annotations

from typing import Optional

from ...model.absence import Absence
from ...util.at_first_use import dataclass
from .config_space import ConfigUnreadable, NotGiven, config_is_all_ones, find_capability, find_extended

__all__ = ["ASPM", "CUT_AT", "PORTS", "REGISTERS", "SPEEDS", "Express", "ExpressLink", "express", "generation"]

#: Device/port types by number, in lspci's words.
PORTS = {0: "Endpoint", 1: "Legacy Endpoint", 4: "Root Port", 5: "Upstream Port", 6: "Downstream Port",
         7: "PCI-Express to PCI/PCI-X Bridge", 8: "PCI/PCI-X to PCI-Express Bridge",
         9: "Root Complex Integrated Endpoint", 10: "Root Complex Event Collector"}

#: ASPM Support and ASPM Control: two bits each.
ASPM = ("", "L0s", "L1", "L0s L1")

#: GT/s by the code of a link speed, which is also the PCIe generation.
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}

_GENERATIONS = {text: code for code, speed in SPEEDS.items() for text in (speed, speed.partition(".0")[0])}
#: As the kernel says it.
_OF_SYSFS = {"%s GT/s PCIe" % speed: code for code, speed in SPEEDS.items()}

#: How many bytes the registers take up to Link Status, and with the second set (capability version 2).
REGISTERS = 0x14
_SECOND = 0x34

#: Where an import puts a capability whose registers a text does not show: they would lie beyond the 256 bytes.
CUT_AT = 0xF8

_EXPRESS, _AER = 0x10, 0x0001
_CONVENTIONAL, _EXTENDED = 256, 4096
#: aer_status.NOT_GIVEN: put there by an import whose text does not show the capability.
_NOT_GIVEN = b"\xff\xff\xff\xff"
_INSIDE_ROOT_COMPLEX = (9, 10)


@dataclass(frozen=True)
class ExpressLink:
    """The link as one end's registers state it. Generations 1 to 6 and lanes; None where the register holds a code
    that means nothing (no link up, or an emulated port). ``aspm`` is what is switched on (Link Control), one of ASPM;
    ``aspm_able`` what the port could. ``target_gen`` limits the speed (Link Control 2; None: not given)."""

    max_gen: Optional[int]
    max_width: Optional[int]
    gen: Optional[int]
    width: Optional[int]
    aspm: str
    aspm_able: str
    target_gen: Optional[int]


@dataclass(frozen=True)
class Express:
    """One device's capability. Sizes in bytes: ``payload_max`` is what it could, ``payload`` (MPS) and
    ``read_request`` (MRRS) what is set. ``link`` is None inside the root complex; ``aer`` says whether the device has
    Advanced Error Reporting, None where the extended space is out of
    reach or not given."""

    port: str
    slot: bool
    payload_max: Optional[int]
    payload: Optional[int]
    read_request: Optional[int]
    relaxed_ordering: bool
    extended_tag: bool
    link: Optional[ExpressLink]
    aer: Optional[bool]


def generation(speed: str) -> Optional[int]:
    """Return the generation of a speed: 5 for ``32.0 GT/s PCIe`` (sysfs) or ``32GT/s`` (lspci). None for Unknown and
    anything else."""
    return _OF_SYSFS.get(speed) or _GENERATIONS.get(speed.partition("GT/s")[0].strip())


def express(config: bytes) -> Optional[Express]:
    """Return the capability, or None where the device is conventional PCI. ConfigUnreadable where that cannot be told:
    too few bytes (no root), a device that does not answer, or registers that are not given."""
    if config_is_all_ones(config):
        raise ConfigUnreadable("the device does not answer (its configuration space reads ff)", Absence.LOST)
    if len(config) < _CONVENTIONAL:
        raise ConfigUnreadable("no permission (only %d bytes of the configuration space)" % len(config),
                               Absence.NO_PERMISSION)
    at = find_capability(config, _EXPRESS)
    if at is None:
        return None
    flags = _word(config, at + 2)
    kind = flags >> 4 & 0xF
    has_link = kind not in _INSIDE_ROOT_COMPLEX
    if at + (REGISTERS if has_link else 0x0C) > _CONVENTIONAL:
        raise NotGiven("express", "its PCI Express registers are not given (capability at 0x%02x)" % at)
    devcap, devctl = _word(config, at + 4), _word(config, at + 8)
    return Express(
        port=PORTS.get(kind, "type %d" % kind), slot=bool(flags & 0x100),
        payload_max=_size(devcap & 7), payload=_size(devctl >> 5 & 7), read_request=_size(devctl >> 12 & 7),
        relaxed_ordering=bool(devctl & 0x10), extended_tag=bool(devctl & 0x100),
        link=_link(config, at, flags & 0xF) if has_link else None,
        aer=_reports(config))


def _reports(config: bytes) -> Optional[bool]:
    at = find_extended(config, _AER) if len(config) >= _EXTENDED else None
    if at is None:
        return False if len(config) >= _EXTENDED else None
    return None if config[at + 4:at + 8] == _NOT_GIVEN else True


def _link(config: bytes, at: int, version: int) -> ExpressLink:
    able, control, status = _word(config, at + 0x0C), _word(config, at + 0x10), _word(config, at + 0x12)
    target = _word(config, at + 0x30) & 0xF if version >= 2 and at + _SECOND <= _CONVENTIONAL else 0
    return ExpressLink(_gen(able), _width(able), _gen(status), _width(status), ASPM[control & 3],
                       ASPM[able >> 10 & 3], target if target in SPEEDS else None)


def _word(config: bytes, offset: int) -> int:
    return config[offset] | config[offset + 1] << 8


def _size(code: int) -> Optional[int]:
    return 128 << code if code <= 5 else None       # 6 and 7 are reserved


def _gen(register: int) -> Optional[int]:
    return register & 0xF if register & 0xF in SPEEDS else None


def _width(register: int) -> Optional[int]:
    lanes = register >> 4 & 0x3F
    return lanes if lanes in (1, 2, 4, 8, 12, 16, 32) else None
