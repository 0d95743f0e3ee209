"""The kernel parameters that the kernel says it did not take. Pure, never fails.

Texts of drivers/pci/pci.c, kernel/params.c, init/main.c, drivers/iommu/{amd/init,intel/iommu}.c. The quoting of the
first is a back-tick and an apostrophe, really.
"""

from __future__ import annotations

import re
from typing import Dict

from ...util.at_first_use import regex
from .cmdline import tokenize

__all__ = ["rejected"]

_PCI = regex(r"PCI: Unknown option `([^']*)'")
_IOMMU = regex(r"(AMD-Vi|DMAR): Unknown option - '?([^'\n]+?)'?$", re.MULTILINE)
_MALFORMED = regex(r"Malformed early option '([^']*)'")
_UNKNOWN = regex(r'Unknown kernel command line parameters "(.*?)(?:", will be passed|$)', re.MULTILINE)
_KEYS = {"AMD-Vi": "amd_iommu", "DMAR": "intel_iommu"}


def rejected(log: str) -> Dict[str, str]:
    """Return the parameters that the kernel says it did not take, each with the text that says so."""
    found: Dict[str, str] = {}
    for match in _PCI.finditer(log):
        found.setdefault(f"pci={match.group(1)}", match.group())
    for match in _IOMMU.finditer(log):
        found.setdefault(f"{_KEYS[match.group(1)]}={match.group(2)}", match.group())
    for match in _MALFORMED.finditer(log):
        found.setdefault(match.group(1), match.group())
    for match in _UNKNOWN.finditer(log):
        for token in tokenize(match.group(1)):
            found.setdefault(token, f"Unknown kernel command line parameters: {token}")
    return found
