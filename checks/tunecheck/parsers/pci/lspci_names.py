"""The first line of a device in lspci, and the names in it that matter here: without -nn, a text has no numbers.

From pci.ids (https://pci-ids.ucw.cz), 2026-11. A name that is not here gives None: unknown, never a guess.
"""

from __future__ import annotations

import re
from typing import Optional

from ...util.at_first_use import regex

__all__ = ["HEADER", "class_code", "ids_of"]

#: ``0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation ...`` with or without domain and -nn.
HEADER = regex(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (\S.*?): (\S.*)$")

_CLASSES = {
    "3D controller": "0302", "Audio device": "0403", "Bridge": "0680", "Co-processor": "0b40",
    "Communication controller": "0780", "Display controller": "0380", "Encryption controller": "1080",
    "Ethernet controller": "0200", "Host bridge": "0600", "IOMMU": "0806", "ISA bridge": "0601",
    "Infiniband controller": "0207", "Network controller": "0280", "Non-Volatile memory controller": "0108",
    "PCI bridge": "0604", "PIC": "0800", "Processing accelerators": "1200", "RAID bus controller": "0104",
    "SATA controller": "0106", "SCSI storage controller": "0100", "SMBus": "0c05",
    "Serial Attached SCSI controller": "0107", "Serial bus controller": "0c80", "Signal processing controller": "1180",
    "System peripheral": "0880", "USB controller": "0c03", "VGA compatible controller": "0300",
}
#: Only names that stand for one id: "Red Hat, Inc." has two.
_VENDORS = {
    "NVIDIA Corporation": "10de", "Broadcom / LSI": "1000", "PLX Technology, Inc.": "10b5",
    "Advanced Micro Devices, Inc. [AMD]": "1022", "Advanced Micro Devices, Inc. [AMD/ATI]": "1002",
    "Intel Corporation": "8086", "PMC-Sierra Inc.": "11f8", "Microchip / SMC": "1055",
    "ASPEED Technology, Inc.": "1a03", "ASMedia Technology Inc.": "1b21", "Mellanox Technologies": "15b3",
    "Matrox Electronics Systems Ltd.": "102b",
}
#: Boards whose name alone decides. 2bb1, 2bb4, 2bb5, 2b85, 2901 and 2335 are those of facts/pci/devices.py.
_NVIDIA = {
    "GB202GL [RTX PRO 6000 Blackwell Workstation Edition]": "2bb1",
    "GB202GL [RTX PRO 6000 Blackwell Max-Q Workstation Edition]": "2bb4",
    "GB202GL [RTX PRO 6000 Blackwell Server Edition]": "2bb5",
    "GB202 [GeForce RTX 5090]": "2b85", "GB100 [B200]": "2901", "GH100 [H200 SXM 141GB]": "2335",
}
_TAIL = regex(r"(?: \((?:rev [0-9a-f]{2}|prog-if [0-9a-f]{2}[^()]*(?:\([^()]*\)[^()]*)*)\))+$")
_IDS = regex(r"(?:^|\[)([0-9a-f]{4}):([0-9a-f]{4})\]?$")


def class_code(name: str) -> Optional[str]:
    """Return the class code: ``0300`` for ``VGA compatible controller``, ``... [0300]`` or, with -n, ``0300``. None for
    an unknown name."""
    found = re.search(r"(?:^|\[)([0-9a-f]{4})\]?$", name)
    return found.group(1) if found else _CLASSES.get(name)


def ids_of(name: str) -> "tuple[Optional[str], Optional[str]]":
    """Return vendor and device id from what stands behind the class: numbers where there are any, else known names.
    None stands for an unknown one."""
    bare = _TAIL.sub("", name)
    numbers = _IDS.search(bare)
    if numbers:
        return numbers.group(1), numbers.group(2)
    vendor = next((text for text in _VENDORS if bare.startswith(text + " ")), None)
    if vendor is None:
        return None, None
    rest = bare[len(vendor) + 1:]
    unnamed = re.match(r"^Device ([0-9a-f]{4})$", rest)
    if unnamed:
        return _VENDORS[vendor], unnamed.group(1)
    if vendor == "Broadcom / LSI" and rest.startswith("PEX890xx PCIe Gen 5 Switch"):
        return _VENDORS[vendor], "c030"
    return _VENDORS[vendor], _NVIDIA.get(rest) if vendor == "NVIDIA Corporation" else None
