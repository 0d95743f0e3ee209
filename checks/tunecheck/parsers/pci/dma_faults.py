"""What an IOMMU refused a device, as the kernel log tells it: DMA to an address that is not mapped, interrupts.

Texts of drivers/iommu/intel/dmar.c (dmar_fault_do_one()) of 4.x to 6.x and of drivers/iommu/amd/iommu.c
(amd_iommu_report_page_fault(), iommu_print_event()). Both print an address without a domain where the machine has one
domain; a page fault of AMD names its device in front of the message where the kernel knows it.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["DmaFault", "DmaFaults"]

_BDF = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_INTEL = regex(rf"DMAR: \[(?P<what>DMA|INTR)[^\]\n]{{0,60}}\] Request device \[(?P<bdf>{_BDF})\] ")
_AMD = regex(rf"(?:[\w.-]{{1,32}} (?P<front>{_BDF}|ivhd\d{{1,4}}): )?AMD-Vi: Event logged \[(?P<what>[A-Z_]{{3,40}})"
             rf"(?: device=(?P<bdf>{_BDF}))?[ \]]")
_KINDS = {"DMA": "dma", "IO_PAGE_FAULT": "dma", "INTR": "interrupt"}
_MOST = 512
_TEXT = 300


@dataclass(frozen=True)
class DmaFault:
    """All faults of one ``kind`` of one device: "dma" (an address that is not mapped for it), "interrupt" (remapping
    refused it), "other" (what else an AMD IOMMU logs: its own table, a time-out). ``text``: the last one."""

    bdf: str
    kind: str
    count: int
    first: str
    last: str
    text: str


@dataclass
class DmaFaults:
    """Collects the faults of a log line by line."""

    _faults: Dict[Tuple[str, str], DmaFault] = field(default_factory=dict)

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was a fault that names its device."""
        found = _read(line.text)
        if found is None:
            return False
        known = self._faults.get(found)
        text = line.text[:_TEXT].strip()
        if known is not None:
            self._faults[found] = replace(known, count=known.count + line.count, last=line.when, text=text)
        elif len(self._faults) < _MOST:
            self._faults[found] = DmaFault(*found, line.count, line.when, line.when, text)
        return True

    def result(self) -> Tuple[DmaFault, ...]:
        """Return all faults, in the order of first appearance."""
        return tuple(self._faults.values())


def _read(text: str) -> Optional[Tuple[str, str]]:
    found = _INTEL.match(text) or _AMD.match(text)
    if found is None:
        return None
    named = found.groupdict()
    bdf = named["bdf"] or named.get("front") or ""
    if "." not in bdf:      # the IOMMU itself, or nobody
        return None
    return (bdf if bdf.count(":") == 2 else f"0000:{bdf}"), _KINDS.get(named["what"], "other")
