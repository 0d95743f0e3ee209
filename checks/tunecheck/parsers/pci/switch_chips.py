"""PCIe switch chips by the PCI ids of their ports.

Sources: pci.ids (names of 1000:c010 to c034, 10b5, 104c); SWITCHTEC_QUIRK in drivers/pci/quirks.c of Linux 6.18
(11f8:40xx to 45xx are Gen4, 50xx to 55xx Gen5, 85xx Gen3); 1f18:0101 and 1000:c030 from owners' lspci of 2026.
"""

from __future__ import annotations

from typing import Optional

__all__ = ["EMULATED", "QEMU_PORT", "chip", "collapses"]

#: QEMU's own port, of which no chip was ever made. The TI XIO3130, which it emulates too, is also a real one.
QEMU_PORT = "1b36:000c"
#: Ports that QEMU makes up: their links and sizes say nothing about the board that a guest was given.
EMULATED = (QEMU_PORT, "104c:8232", "104c:8233")

_EXACT = {
    "1000:c010": "Broadcom PEX880xx (Gen4)", "1000:c012": "Broadcom PEX880xx (Gen4)",
    "1000:c030": "Broadcom PEX890xx (Gen5)", "1000:c034": "Broadcom PEX890xx (Gen5)",
    "1f18:0101": "c-payne PM50100 (Microchip Switchtec, Gen5)",
    "104c:8232": "TI XIO3130, as QEMU emulates it", "104c:8233": "TI XIO3130, as QEMU emulates it",
}
#: Vendor and the first two digits of the device.
_SERIES = {
    "11f8:40": "Gen4", "11f8:41": "Gen4", "11f8:42": "Gen4", "11f8:43": "Gen4", "11f8:44": "Gen4", "11f8:45": "Gen4",
    "11f8:50": "Gen5", "11f8:51": "Gen5", "11f8:52": "Gen5", "11f8:53": "Gen5", "11f8:54": "Gen5", "11f8:55": "Gen5",
    "11f8:85": "Gen3",
}


def chip(ids: str) -> Optional[str]:
    """Return the name of a switch by "vendor:device". None where the table has none."""
    if ids in _EXACT:
        return _EXACT[ids]
    if ids[:7] in _SERIES:
        return "Microchip Switchtec (%s)" % _SERIES[ids[:7]]
    return {"11f8": "Microchip Switchtec", "10b5": "PLX/Broadcom PEX8xxx"}.get(ids[:4])


def collapses(ids: str) -> bool:
    """Return whether owners saw posted writes of several GPUs through one uplink to several root ports collapse
    (PEX890xx: 36.8 to 2.7 GB/s; reads unaffected). The registers do not show it: it takes a measurement."""
    return ids in ("1000:c030", "1000:c034")
