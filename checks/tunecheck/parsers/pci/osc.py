"""What kernel and firmware settle about PCIe features at each ACPI host bridge (_OSC), as the kernel log tells it.

Lines of drivers/acpi/pci_root.c: negotiate_os_control(), os_control_query_checks(), acpi_pci_osc_control_set(). Read in
source in November 2026, in the trees Tptogiar/linux-5.15.85 and LFRon/Linux-6.12-LTS-nabu (deepin's 6.12.43) on GitHub;
other releases were not read for this. The kernel asks for nothing at all where one of the four kinds of support it
needs is missing (ACPI_PCIE_REQ_SUPPORT), which is how pcie_aspm=off costs AER.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["Bridge", "Negotiations"]

_LINE = regex(r"acpi (\S{1,40}): (?:_OSC: )?(.{1,400})")
_LIST = regex(r"(OS supports|OS requested|OS now controls|OS assumes control of|platform willing to grant"
              r"|platform does not support|not requesting control; platform does not support"
              r"|not requesting OS control; OS requires) \[([^\]]*)\]")
_KEEPS = regex(r"platform retains control of PCIe features \((\w{1,40})\)")
_DISABLED = "PCIe port services disabled; not requesting _OSC control"
#: Older kernels did not ask where the HEST table said "firmware first". 5.15.85 has this line no more.
_FIRMWARE_FIRST = "PCIe AER handled by firmware"
#: More bridges than any box has.
_MOST = 512


@dataclass(frozen=True)
class Bridge:
    """One host bridge's negotiation. ``supports`` and ``required``: what the kernel offered and what it must offer
    before it asks. ``refused``: what the platform does not grant. ``controls``: what the kernel got, None where no line
    says that it got anything. ``error``: ACPI's word for a failed _OSC. ``disabled``: the port services are off, by
    pcie_ports=compat or because the kernel is built without CONFIG_PCIEPORTBUS, where the same line is printed."""

    supports: Tuple[str, ...] = ()
    required: Tuple[str, ...] = ()
    refused: Tuple[str, ...] = ()
    controls: Optional[Tuple[str, ...]] = None
    error: str = ""
    disabled: bool = False

    @property
    def lacks(self) -> Tuple[str, ...]:
        """The kinds of support without which the kernel asked for nothing."""
        return tuple(name for name in self.required if name not in self.supports)

    @property
    def outcome(self) -> str:
        """Who handles PCIe errors, and if not the kernel, why: "kernel", "disabled" (no port services), "unsupported"
        (the kernel lacks what it needs to ask), "refused" (the platform keeps them), "failed" (_OSC ended in an error),
        "not asked" (it got other features and did not ask for this one), or "" where nothing was settled."""
        if self.controls is not None and "AER" in self.controls:
            return "kernel"
        if self.disabled:
            return "disabled"
        if self.required:
            return "unsupported"
        if "AER" in self.refused or "PCIeCapability" in self.refused:
            return "refused"
        if self.error:
            return "failed"
        return "" if self.controls is None else "not asked"


@dataclass
class Negotiations:
    """Collects the negotiations message by message. ``bridges`` is by the ACPI name of the host bridge
    ("PNP0A08:00")."""

    bridges: Dict[str, Bridge] = field(default_factory=dict)

    def feed(self, text: str) -> None:
        """Take one message in. Any message of something else is passed over."""
        found = _LINE.match(text)
        if found is None or (found[1] not in self.bridges and len(self.bridges) >= _MOST):
            return
        known = self.bridges.get(found[1], Bridge())
        changed = _changed(known, found[2])
        if changed is not None:
            self.bridges[found[1]] = changed


def _changed(known: Bridge, text: str) -> Optional[Bridge]:
    if text.startswith(_DISABLED):
        return replace(known, disabled=True)
    if text.startswith(_FIRMWARE_FIRST):
        return replace(known, refused=(*known.refused, "AER"))
    keeps = _KEEPS.match(text)
    if keeps:
        return replace(known, error=keeps[1])
    found = _LIST.match(text)
    if found is None:
        return None
    # CXL's lines look the same: their names begin with CXL and say nothing about PCIe.
    names = tuple(name for name in found[2].split() if not name.startswith("CXL"))
    if not names:
        return None
    if found[1] == "OS supports":
        return replace(known, supports=names)
    if found[1].startswith("not requesting OS control"):
        return replace(known, required=names)
    if "platform does not support" in found[1]:
        return replace(known, refused=(*known.refused, *names)[:64])
    if found[1] in ("OS now controls", "OS assumes control of"):
        return replace(known, controls=names)
    return None     # asked for, or willing to grant: what came of it is in another line
