"""The memory regions that lspci shows of a device, before its capabilities.

``lspci -vv`` numbers them by register: ``Region 1: Memory at 38000000000 (64-bit, prefetchable) [size=128G]``. A 64-bit
region takes two registers, so the next one has a number more. ``<unassigned>`` and ``<ignored>`` stand where the kernel
gave a region no address. ``lspci -v`` prints no numbers. Below SR-IOV the regions of virtual functions have the same
form: they are another thing, with addresses of zero where no virtual function is on.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Tuple

from ...util.at_first_use import regex
from .lspci_names import HEADER

__all__ = ["bar1_sizes", "without_address"]

_REGION = regex(r"^[ \t]*(?:Region (\d): )?Memory at (<unassigned>|<ignored>|[0-9a-f]{4,16}) "
                r"\(([^,()\n]{1,20}), [^()\n]{1,40}\)((?: \[[^\]\n]{1,20}\]){0,4})", re.MULTILINE)
_SIZE = regex(r"^ \[size=(\d{1,5})([KMGT]?)\]$")
_HEADER = regex(HEADER.pattern, re.MULTILINE)
_CAPABILITIES = regex(r"^[ \t]*Capabilities: ", re.MULTILINE)
_MIB = {"K": 1 / 1024, "": 1 / 1048576, "M": 1, "G": 1024, "T": 1048576}
_REGISTERS = 6
#: So far a device's regions stand behind its first line at most.
_NEAR = 20_000


def bar1_sizes(text: str) -> Dict[str, int]:
    """Return the size in MiB of what the driver calls BAR1, by address, of NVIDIA's GPUs alone. It is the region behind
    Region 0: Region 2 on boards whose Region 0 is a 64-bit one (RTX PRO 6000 Server, H100, H200, B200), else Region 1.
    A BAR1 without address or switched off is left out."""
    found: Dict[str, int] = {}
    for bdf, maker, regions in _regions(text):
        numbered = {region.group(1): region for region in regions if region.group(1)}
        first = numbered.get("0")
        wide = first is not None and first.group(3) == "64-bit"
        bar1 = numbered.get("2" if wide else "1") if "10de" in maker or "NVIDIA" in maker else None
        size = _SIZE.match(bar1.group(4)) if bar1 and not bar1.group(2).startswith("<") else None
        if bar1 and size and int(bar1.group(2), 16):
            found[bdf] = int(int(size.group(1)) * _MIB[size.group(2)])
    return found


def without_address(text: str) -> Dict[str, Tuple[int, ...]]:
    """Return the numbers of the memory regions that have no address, by the device's address; -1 for one without a
    number (``lspci -v``). A device whose memory is switched off has its addresses all the same: only what lspci names
    unassigned or ignored counts."""
    if "Memory at <" not in text:
        return {}
    found: Dict[str, Tuple[int, ...]] = {}
    for bdf, _, regions in _regions(text):
        bare = [int(region.group(1) or -1) for region in regions if region.group(2).startswith("<")]
        if bare:
            found[bdf] = tuple(dict.fromkeys(number for number in bare if number < _REGISTERS))
    return found


def _regions(text: str) -> "Iterator[Tuple[str, str, List[re.Match[str]]]]":
    """Yield address, first line and memory regions of every device that has some."""
    if "Memory at " not in text:
        return
    heads = list(_HEADER.finditer(text))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        end = min(end, head.end() + _NEAR)
        capabilities = _CAPABILITIES.search(text, head.end(), end)
        regions = list(_REGION.finditer(text, head.end(), capabilities.start() if capabilities else end))
        if regions:
            domain, rest = head.group(1) or "0000", head.group(2)
            yield "%04x:%s" % (int(domain, 16), rest), head.group(), regions
