"""Access Control Services (ACS): its registers in configuration space, and the kernel options that clear its redirect.

Layout and names of the registers are those of the PCIe base specification, include/uapi/linux/pci_regs.h and pciutils
(ls-ecaps.c: cap_acs).
"""

from __future__ import annotations

from typing import Dict, Iterable, Optional

from ...model.absence import Absence
from ...util.at_first_use import dataclass
from .bdf import bdf_key, same_slot
from .config_space import (
    CONVENTIONAL,
    EXTENDED,
    ConfigUnreadable,
    NotGiven,
    config_is_all_ones,
    find_capability,
    find_extended,
)

__all__ = ["ACS_NAMES", "ACS_NOT_GIVEN", "REDIRECT_MASK", "Acs", "acs", "acs_options",
           "covered_by_acs_option"]

#: Bit names of the control register as lspci prints them, lowest bit first.
ACS_NAMES = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")

#: ReqRedir | CmpltRedir | EgressCtrl: what the kernel's own drivers/pci/p2pdma.c calls "ACS redirect".
#: SrcValid and UpstreamFwd alone are harmless to peer traffic; demanding 0x0000 gives false alarms.
REDIRECT_MASK = 0x0004 | 0x0008 | 0x0020

#: Both ACS registers together: no device reads like this. An import puts it where a text does not tell them.
ACS_NOT_GIVEN = 0xFFFFFFFF

_CAP_EXPRESS = 0x10
_ECAP_ACS = 0x000D


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


def acs(config: bytes) -> Optional[Acs]:
    """Return the ACS capability, or None where the device has none.

    ConfigUnreadable where that cannot be told: too few bytes (no root), a device that does not answer, or a PCI Express
    device whose extended space the kernel cannot reach."""
    if config_is_all_ones(config):
        raise ConfigUnreadable("the device does not answer (its configuration space reads ff)", Absence.LOST)
    if len(config) < CONVENTIONAL:
        raise ConfigUnreadable("no permission (only %d bytes of the configuration space)" % len(config),
                               Absence.NO_PERMISSION)
    if len(config) < EXTENDED:
        if find_capability(config, _CAP_EXPRESS) is None:
            return None     # conventional PCI: no extended capabilities at all
        raise ConfigUnreadable("the extended configuration space is out of reach (%d of %d bytes)"
                               % (len(config), EXTENDED))
    offset = find_extended(config, _ECAP_ACS)
    if offset is None:
        return None
    if int.from_bytes(config[offset + 4:offset + 8], "little") == ACS_NOT_GIVEN:
        raise NotGiven("acs", "its ACS registers are not given")
    return Acs(offset, _word(config, offset + 4), _word(config, offset + 6))


def _word(config: bytes, offset: int) -> int:
    return int.from_bytes(config[offset:offset + 2], "little")


def acs_options(line: "Iterable[str]") -> "list[str]":
    """Return the words of a command line's tokens that set ACS, as far as they act: of several of one name the kernel
    keeps the last one (drivers/pci/pci.c: pci_setup())."""
    found: Dict[str, str] = {}
    for token in line:
        for word in token[len("pci="):].split(",") if token.startswith("pci=") else ():
            name, mark, _ = word.partition("=")
            if mark and name in ("disable_acs_redir", "config_acs"):
                found[name] = "pci=" + word
    return list(found.values())


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
            and all(same_slot(slot, bdf) for slot, bdf in zip(rest, chain[1:])))  # noqa: B905
