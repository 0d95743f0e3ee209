"""aer-ownership: the kernel, not the firmware, handles PCIe errors, so that they reach the kernel log."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.cmdline import words
from . import from_log
from .finding import Case, Finding, Remedy

_ID = "aer-ownership"
_OFF = ("pci=noaer", "pcie_ports=compat")
_BMC = Remedy("look for PCIe errors in the BMC's event log; some BIOSes have a setting for OS native AER",
              physical=True)


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    off = [word for word in words(case.host.kernel.cmdline.value or ()) if word in _OFF]
    firmware = [bridge for bridge, owner in found.aer_owner.items() if owner == "firmware"]
    outcome, remedy = "warn", Remedy(f"remove {off[0]} from the boot configuration", (), True) if off else _BMC
    if off:
        text = f"{off[0]} turns PCIe error reporting off"
    elif firmware:
        some = ", ".join(firmware[:3]) + (f" and {len(firmware) - 3} more" if len(firmware) > 3 else "")
        named = f"{len(firmware)} of {len(found.aer_owner)} host bridges ({some}) to itself"
        text = f"the firmware keeps PCIe errors of {named}: no AER line in the log is no proof of health"
    elif found.aer_owner:
        outcome, text = "pass", "the kernel handles PCIe errors (AER) of every host bridge"
    elif found.complete:
        outcome, text = "skip", "no host bridge negotiated AER (a virtual machine, or no ACPI)"
    else:
        text, remedy = "who handles PCIe errors is not in what is left of the log", Remedy("see kernel-log-complete")
    yield Finding(_ID, "host bridges", outcome, "effective", text, "", "AER handled by the kernel",
                  (case.host.kernel.log.source,), remedy if outcome == "warn" else None)
