"""iommu-fault: the IOMMU refused no device anything since boot. A device on an accelerator's path fails."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from ..running_words import against, runs
from . import from_log

CHECK = Check(
    "iommu-fault", "the IOMMU refused no device its memory or its interrupts",
    Heading.KERNEL, 65, Family.ERRORS,
)
CODES = {
    "dma-refused": "The IOMMU refused a device a read or write of memory that is not mapped for it (DMA fault).",
    "interrupt-refused": "Interrupt remapping refused an interrupt of a device.",
    "iommu-error": "An AMD IOMMU logged another error about a device.",
}
_ID = CHECK.id
#: Kind -> code, and what it says of one and of several.
_KINDS = {
    "dma": ("dma-refused", "the IOMMU refused it a read or write of memory", "refused it reads or writes of memory"),
    "interrupt": ("interrupt-refused", "the IOMMU refused it an interrupt", "refused it interrupts"),
    "other": ("iommu-error", "the IOMMU logged an error about it", "logged errors about it"),
}
_LINES = "look at the lines before it for what the driver did (xid)"
_UNTRANSLATED = "iommu=pt"
_OTHER = Remedy("update the driver of the device and the firmware; a device that does not answer the IOMMU may be gone "
                "from the bus (gpu-fallen-off, aer-events)")


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    paths = {bdf for device in case.snapshot.topology.devices for bdf in (device.bdf, *device.path)}
    for fault in log.faults:
        on_path = fault.bdf in paths
        code, one, many = _KINDS[fault.kind]
        where = from_log.name(case, fault.bdf) + (", on an accelerator's path" if on_path else "")
        what = one if fault.count == 1 else f"the IOMMU {many} {fault.count} times, last"
        yield Finding(_ID, code, fault.bdf, "fail" if on_path else "warn", "behaviour",
                      f"{where}: {what}{from_log.at(fault.last)}", str(fault.count), "no fault since boot",
                      (f"{case.host.kernel.log.source}: {fault.text}",),
                      _memory(case) if fault.kind == "dma" else _OTHER)
    if not log.faults:
        yield from_log.nothing_logged(case, _ID, "fault of the IOMMU")


def _memory(case: Case) -> Remedy:
    """Return what to do about memory that was refused."""
    if runs(case, _UNTRANSLATED) and not against(case, [_UNTRANSLATED]):
        return Remedy(f"{_LINES}; {_UNTRANSLATED} runs, and the device was refused all the same (iommu-mode): update "
                      "its driver and the firmware")
    return Remedy(f"{_LINES}; on a host without guests boot with {_UNTRANSLATED}, which leaves DMA untranslated "
                  "(iommu-mode); where that is on, update the driver and the firmware", ("cmdline",), True)
