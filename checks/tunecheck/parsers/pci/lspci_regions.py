"""The sizes of BAR 1 that ``lspci -v`` shows: ``Region 1: Memory at ... (64-bit, prefetchable) [size=128G]``."""

from __future__ import annotations

import re
from typing import Dict

from ...util.at_first_use import regex
from .lspci_names import HEADER

__all__ = ["bar1_sizes"]

#: What lspci -vvv and -v print. A region that is disabled or has no address is no window of any size.
_REGION = regex(r"^[ \t]*Region 1: Memory at ([0-9a-f]{4,16}) \([^)\n]{1,60}\)"
                r"(?: \[(disabled|virtual|enhanced)\])? \[size=(\d{1,5})([KMGT]?)\]", re.MULTILINE)
_HEADER = regex(HEADER.pattern, re.MULTILINE)
_MIB = {"K": 1 / 1024, "": 1 / 1048576, "M": 1, "G": 1024, "T": 1048576}


def bar1_sizes(text: str) -> Dict[str, int]:
    """Return the size in MiB by address, of NVIDIA's GPUs alone. A BAR1 without address or switched off is left out."""
    found: Dict[str, int] = {}
    if "Region 1: Memory at" not in text:
        return found
    heads = [head for head in _HEADER.finditer(text)]
    for number, head in enumerate(heads):
        if "10de" not in head.group() and "NVIDIA" not in head.group():
            continue
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        region = _REGION.search(text, head.end(), min(end, head.end() + 20_000))
        if region and region.group(2) is None and int(region.group(1), 16):
            domain, rest = head.group(1) or "0000", head.group(2)
            found["%04x:%s" % (int(domain, 16), rest)] = int(int(region.group(3)) * _MIB[region.group(4)])
    return found
