"""PCI configuration space as sysfs gives it (/sys/bus/pci/devices/<bdf>/config), and PCI addresses.

The Access Control Services layout and names are those of the PCIe base specification, include/uapi/linux/pci_regs.h
and pciutils (ls-ecaps.c: cap_acs). Without root the kernel hands out only the first 64 bytes.
"""

from __future__ import annotations

from typing import Optional

from ...model.absence import Absence
from ...util.at_first_use import dataclass, regex

__all__ = ["ACS_NAMES", "ACS_NOT_GIVEN", "BDF", "REDIRECT_MASK", "Acs", "ConfigUnreadable", "NotGiven", "acs",
           "bdf_key", "config_is_all_ones", "covered_by_acs_option", "find_capability", "find_extended",
           "without_serial_number"]

#: A PCI address. The domain may have more than four digits (Intel VMD: 10000:e1:00.0).
BDF = regex(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")

#: Bit names of the control register as lspci prints them, lowest bit first.
ACS_NAMES = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")

#: ReqRedir | CmpltRedir | EgressCtrl: what the kernel's own drivers/pci/p2pdma.c calls "ACS redirect".
#: SrcValid and UpstreamFwd alone are harmless to peer traffic; demanding 0x0000 gives false alarms.
REDIRECT_MASK = 0x0004 | 0x0008 | 0x0020

#: Both ACS registers together: no device reads like this. An import puts it where a text does not tell them.
ACS_NOT_GIVEN = 0xFFFFFFFF

_CAP_EXPRESS = 0x10
_ECAP_ACS = 0x000D
_ECAP_SERIAL = 0x0003
_CONVENTIONAL = 256
_EXTENDED = 4096


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


@dataclass(frozen=True)
class Acs:
    """An ACS capability. ``offset`` is where it lies (control: offset + 6), ``cap`` and ``ctl`` its registers."""

    offset: int
    cap: int
    ctl: int

    @property
    def redirects(self) -> bool:
        """Whether peer-to-peer requests or completions are sent up to the root complex, or may be blocked."""
        return bool(self.ctl & REDIRECT_MASK)

    @property
    def cleared(self) -> int:
        """The control register with only the redirect bits taken away."""
        return self.ctl & ~REDIRECT_MASK

    def names(self, mask: int = 0x7F) -> str:
        """Return the control bits of ``mask`` as lspci prints them: ``SrcValid+ ReqRedir-``."""
        bits = enumerate(ACS_NAMES)
        return " ".join(name + ("+" if self.ctl >> bit & 1 else "-") for bit, name in bits if mask >> bit & 1)


def bdf_key(bdf: str) -> "tuple[int, int, int, int]":
    """Return the sort key of an address. It gives address order: a domain of five digits comes after all of four."""
    domain, bus, rest = bdf.split(":")
    device, function = rest.split(".")
    return int(domain, 16), int(bus, 16), int(device, 16), int(function, 16)


def config_is_all_ones(config: bytes) -> bool:
    """Return whether the device does not answer: reads of a device that fell off the bus give all ones."""
    return len(config) >= 4 and config[:4] == b"\xff\xff\xff\xff"


def acs(config: bytes) -> Optional[Acs]:
    """Return the ACS capability, or None where the device has none.

    ConfigUnreadable where that cannot be told: too few bytes (no root), a device that does not answer, or a PCI Express
    device whose extended space the kernel cannot reach."""
    if config_is_all_ones(config):
        raise ConfigUnreadable("the device does not answer (its configuration space reads ff)", Absence.LOST)
    if len(config) < _CONVENTIONAL:
        raise ConfigUnreadable("no permission (only %d bytes of the configuration space)" % len(config),
                               Absence.NO_PERMISSION)
    if len(config) < _EXTENDED:
        if find_capability(config, _CAP_EXPRESS) is None:
            return None     # conventional PCI: no extended capabilities at all
        raise ConfigUnreadable("the extended configuration space is out of reach (%d of %d bytes)"
                               % (len(config), _EXTENDED))
    offset = find_extended(config, _ECAP_ACS)
    if offset is None:
        return None
    if int.from_bytes(config[offset + 4:offset + 8], "little") == ACS_NOT_GIVEN:
        raise NotGiven("acs", "its ACS registers are not given")
    return Acs(offset, _word(config, offset + 4), _word(config, offset + 6))


def _word(config: bytes, offset: int) -> int:
    return int.from_bytes(config[offset:offset + 2], "little")


def find_capability(config: bytes, wanted: int) -> Optional[int]:
    """Return where the conventional capability ``wanted`` lies in at least 256 bytes. None where there is none."""
    if not config[6] & 0x10:        # status register: no capability list
        return None
    offset, seen = config[0x34] & 0xFC, 0
    while 0x40 <= offset < _CONVENTIONAL - 1 and seen < 48:     # 48 fit; more is a loop
        if config[offset] == wanted:
            return offset
        offset, seen = config[offset + 1] & 0xFC, seen + 1
    return None


def without_serial_number(config: bytes) -> bytes:
    """Return the same bytes with the number in the Device Serial Number capability zeroed: it is a MAC address,
    mostly."""
    offset = find_extended(config, _ECAP_SERIAL) if len(config) >= _EXTENDED else None
    return config if offset is None else (config[:offset + 4] + bytes(8) + config[offset + 12:])[:len(config)]


def find_extended(config: bytes, wanted: int) -> Optional[int]:
    """Return where the extended capability ``wanted`` lies in 4096 bytes. None where there is none, or the list is a
    loop."""
    offset, seen = 0x100, 0
    while 0x100 <= offset <= _EXTENDED - 8 and seen < 480:
        header = int.from_bytes(config[offset:offset + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == wanted:
            return offset
        offset, seen = header >> 20 & 0xFFC, seen + 1
    return None


def covered_by_acs_option(word: str, path: "tuple[str, ...]", ids: str) -> bool:
    """Return whether ``pci=disable_acs_redir=...`` or ``pci=config_acs=...`` clears the redirect bits of one port.

    ``word`` is one word of the command line, ``path`` the addresses from the root port down to the port itself, ``ids``
    its "vendor:device". Follows pci_dev_str_match() in drivers/pci/pci.c: an entry is an address, a path of addresses,
    or pci:vendor:device with 0 as wildcard. Subsystem ids are not compared: such an entry covers nothing here, and the
    register decides. The first matching entry of config_acs wins."""
    if word.startswith("pci=disable_acs_redir="):
        return any(_matches(entry, path, ids) for entry in word[len("pci=disable_acs_redir="):].split(";"))
    if word.startswith("pci=config_acs="):
        for entry in word[len("pci=config_acs="):].split(";"):
            flags, mark, device = entry.partition("@")
            if mark and _matches(device, path, ids):
                return all(bit < len(flags) and flags[-1 - bit] == "0" for bit in (2, 3, 5))
    return False


def _matches(entry: str, path: "tuple[str, ...]", ids: str) -> bool:
    if not path:
        return False
    fields = entry.split(":")
    try:
        if fields[0] == "pci":
            want = [int(field, 16) for field in fields[1:]]
            have = [int(field, 16) for field in ids.split(":")]
            return len(want) == 2 and len(have) == 2 and all(w in (0, h) for w, h in zip(want, have))  # noqa: B905
        first, *rest = entry.split("/")
        head = bdf_key(first if first.count(":") == 2 else "0000:" + first)
    except ValueError:
        return False
    chain = path[-1 - len(rest):]
    return (len(chain) == len(rest) + 1 and bdf_key(chain[0]) == head
            and all(_same_slot(slot, bdf) for slot, bdf in zip(rest, chain[1:])))  # noqa: B905


def _same_slot(slot: str, bdf: str) -> bool:
    try:
        return bdf_key("0000:00:" + slot)[2:] == bdf_key(bdf)[2:]
    except ValueError:
        return False
