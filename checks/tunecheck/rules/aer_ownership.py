"""aer-ownership: the kernel, not the firmware, handles PCIe errors, so that they reach the kernel log."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.cmdline import words
from . import from_log
from .finding import Case, Finding, Remedy

_ID = "aer-ownership"
_OFF = ("pci=noaer", "pcie_ports=compat")
_BMC = Remedy("look for PCIe errors in the BMC's event log; some BIOSes have a setting for OS native AER")


def judge(case: Case) -> Iterator[Finding]:
    found, source = from_log.events(case), case.host.kernel.log.source
    if found is None:
        yield from_log.unread(case, _ID)
        return
    off = [word for word in words(case.host.kernel.cmdline.value or ()) if word in _OFF]
    firmware = [bridge for bridge, owner in found.aer_owner.items() if owner == "firmware"]
    if off:
        yield _finding("warn", f"{off[0]} turns PCIe error reporting off", Remedy(f"remove {off[0]}"), source)
    elif firmware:
        named = f"{', '.join(firmware[:3])} to itself ({len(firmware)} of {len(found.aer_owner)} host bridges)"
        yield _finding("warn", f"the firmware keeps PCIe errors of {named}: no AER line in the log is no proof of "
                       "health", _BMC, source)
    elif found.aer_owner:
        yield _finding("pass", "the kernel handles PCIe errors (AER) of every host bridge", None, source)
    elif found.complete:
        yield _finding("skip", "no host bridge negotiated AER (a virtual machine, or no ACPI)", None, source)
    else:
        yield from_log.nothing(case, _ID, "word on who handles PCIe errors")


def _finding(outcome: str, text: str, remedy: Remedy | None, source: str) -> Finding:
    return Finding(_ID, "host bridges", outcome, "effective", text, "", "AER handled by the kernel", (source,), remedy)
