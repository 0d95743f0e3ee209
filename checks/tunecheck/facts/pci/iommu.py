"""How the IOMMU treats each accelerator: the type of its group."""

from __future__ import annotations

import re

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known, not_understood
from ..file_text import text
from .devices import DEVICES, Device

__all__ = ["modes"]


def modes(host: Host, devices: tuple[Device, ...]) -> dict[str, Fact[str]]:
    """Return the IOMMU mode of each device, by address: "identity", "DMA" or "DMA-FQ" (both: translated), or "none"
    where the device is in no group."""
    return {device.bdf: _mode(host, device.bdf) for device in devices}


def _mode(host: Host, bdf: str) -> Fact[str]:
    link = f"{DEVICES}/{bdf}/iommu_group"
    try:
        group = host.realpath(link)
    except Unreadable as error:
        return known("none", link) if error.absence is Absence.NOT_PRESENT else absent(link, error.reason)
    if not re.fullmatch(r"/sys/kernel/iommu_groups/\d+", group):
        return not_understood(link, "it does not lead to an IOMMU group")
    return text(host, f"{group}/type")
