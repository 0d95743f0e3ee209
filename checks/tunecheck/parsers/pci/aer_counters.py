"""PCIe error counters as the kernel keeps them: /sys/bus/pci/devices/<bdf>/aer_dev_{correctable,nonfatal,fatal}.

Lines "name count" and last a total (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats). They count from boot,
or from when the device was found.
"""

from __future__ import annotations

from typing import Dict

from ...util.at_first_use import regex

__all__ = ["FILES", "parse_counters"]

#: File names by severity, harmless first.
FILES = {"correctable": "aer_dev_correctable", "nonfatal": "aer_dev_nonfatal", "fatal": "aer_dev_fatal"}

_LINE = regex(r"^([A-Za-z][A-Za-z0-9_]{0,40}) +(\d{1,20})$")


def parse_counters(text: str) -> Dict[str, int]:
    """Return the counts by name, without the total. ValueError where a line is no count, or the total is missing."""
    counts: Dict[str, int] = {}
    total = False
    for line in text[:8192].splitlines():
        found = _LINE.match(line.strip())
        if not found:
            raise ValueError("%r is no counter" % line[:60])
        if found.group(1).startswith("TOTAL_ERR_"):
            total = True
        else:
            counts[found.group(1)] = int(found.group(2))
    if not total:
        raise ValueError("the line with the total is missing")
    return counts
