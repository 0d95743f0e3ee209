"""What ``nvidia-smi -q`` (or ``-q -x``) says about driver and boards: versions, addresses, names, PCI ids."""

from __future__ import annotations

import re
from typing import List

from ...util.at_first_use import dataclass, regex

__all__ = ["Smi", "SmiGpu", "parse_smi"]

_GPU = regex(r'^\s*(?:GPU ([0-9A-Fa-f]{8}:\S+)|<gpu id="([^"]{1,40})">)\s*$')
_FIELD = regex(r"^\s*(?:([A-Z]\w*(?: \w+)*?)\s+: (.*?)|<(\w+)>(.*?)</\w+>)\s*$")
_ADDRESS = regex(r"^([0-9a-f]{8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$")
_ID = regex(r"^(?:0x)?([0-9a-f]{4})([0-9a-f]{4})$")
_NAMES = {"driver_version": "Driver Version", "product_name": "Product Name", "pci_device_id": "Device Id"}


@dataclass
class SmiGpu:
    """One GPU of the report. ``bdf`` is as the kernel writes it, ``ids`` is "vendor:device"; "" where the text does not
    say."""

    bdf: str
    name: str = ""
    ids: str = ""


@dataclass
class Smi:
    """What the report says. ``driver`` is the version of the kernel module."""

    driver: str
    gpus: List[SmiGpu]


def parse_smi(text: str) -> Smi:
    """Read as much as there is. A text that holds nothing of it gives an empty answer."""
    result = Smi("", [])
    for line in text.split("\n"):
        line = line[:1000]
        start = _GPU.match(line)
        if start:
            result.gpus.append(SmiGpu(_bdf(start.group(1) or start.group(2))))
            continue
        field = _FIELD.match(line)
        if field:
            name = field.group(1) or _NAMES.get(field.group(3), "")
            _keep(result, name, (field.group(2) if field.group(1) else field.group(4)).strip())
    result.gpus = [gpu for gpu in result.gpus if gpu.bdf]
    return result


def _keep(result: Smi, name: str, value: str) -> None:
    if name == "Driver Version" and not result.driver and re.match(r"^\d+\.\d+(\.\d+)?$", value):
        result.driver = value
    elif result.gpus and name == "Product Name":
        result.gpus[-1].name = value[:80]
    elif result.gpus and name == "Device Id":
        found = _ID.match(value.lower())
        # Device first, vendor second: 0x2BB510DE.
        result.gpus[-1].ids = "%s:%s" % (found.group(2), found.group(1)) if found else ""


def _bdf(text: str) -> str:
    """Return an address as the kernel writes it: ``0000:06:00.0`` for ``00000000:06:00.0``. "" for anything else."""
    found = _ADDRESS.match(text.lower())
    return "%04x:%s" % (int(found.group(1), 16), found.group(2)) if found else ""
