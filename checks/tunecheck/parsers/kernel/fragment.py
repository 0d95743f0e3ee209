"""Whether a few messages of the kernel are ones that some check reads: by the parsers themselves, so that what a check
reads and what is taken for a kernel log cannot differ. Pure, never fails."""

from __future__ import annotations

from collections.abc import Iterator

from ...util.at_first_use import regex
from ..text.log_lines import KEY, line
from . import boot_log, kernel_log
from .rejected import rejected

__all__ = ["may_tell", "messages", "tells"]

_LONGEST = 2000
#: Without one of these no parser finds anything: looked for first, since it is cheap.
_WORDS = regex(rf"{KEY.pattern}|Unknown option|Malformed early option|Unknown kernel command line|smpboot: CPU"
               r"|failed to report alive|ACPI: (?:IVRS|DMAR) 0x|secureboot: |x2apic: IRQ|automatic NUMA balancing"
               r"|mem auto-init: |Hypervisor detected|DMAR: |AMD-Vi: ")
#: drivers/iommu/intel/dmar.c and amd/iommu.c: faults of DMA, also those that name no device; nobody else says them.
_FAULT = regex(r"(?:[\w.-]{1,32} [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: )?"
               r"(?:DMAR: (?:DRHD: handling fault|\[(?:DMA|INTR)[^\]\n]{1,60}\] )|AMD-Vi: Event logged \[)")
#: What belongs to a message that a check reads, but says nothing on its own.
_PART = regex(r"NVRM: \S|nvidia-nvswitch\d{1,3}: SXid |\{\d{1,6}\}\[Hardware Error\]: |acpi \S{1,40}: _OSC: "
              r"|[\w.-]{1,32} [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: {1,8}"
              r"(?:(?:AER|DPC): |device \[[0-9a-f:]{9}\] error status/mask=|(?:VF )?BAR \d{1,2}(?:: | \[))")
#: A time that somebody rounded, which is no line of a log for everybody else.
_ROUNDED = regex(r"[ \t]*(?:<\d{1,3}>)?\[[ +]{0,12}\d{1,9}[.,]\d{1,5}\] \Z")


def may_tell(text: str) -> bool:
    """Return whether it is worth the time to ask `tells`."""
    return _WORDS.search(text) is not None


def messages(text: str) -> Iterator[int]:
    """Yield where lines begin that are such messages as they stand, without a time in front or with a rounded one."""
    done = 0
    for word in _WORDS.finditer(text):
        begin = text.rfind("\n", 0, word.start()) + 1
        if begin >= done:
            done = text.find("\n", word.start()) + 1 or len(text)
            raw = text[begin:min(done, begin + _LONGEST)].rstrip("\n")
            said = line(raw).text
            front = raw[:len(raw) - len(said)]
            if (_ROUNDED.match(front) if front else not raw[0].isspace()) and tells(said):
                yield begin


def tells(message: str) -> bool:
    """Return whether a message, without what a printer of logs puts in front, is one that a check reads."""
    if not may_tell(message):
        return False
    if _FAULT.match(message) or _PART.match(message):
        return True
    if any(message.startswith(told.partition(":")[0]) for told in rejected(message).values()):
        return True
    found = kernel_log.parse(message)
    return bool(found.xids or found.fallen or found.hung or found.pcie or found.osc or found.unassigned or found.sxids
                or found.failures or found.faults or found.lockups or found.loads or found.memory
                or found.mismatches or found.unsupported or found.links
                ) or boot_log.parse(message) != boot_log.BootLog()
