"""iommu-trap: on AMD, switching the IOMMU off on the command line does not keep the kernel from turning ACS on."""

from __future__ import annotations

from collections.abc import Iterator

from .acs_persistence import uncovered
from .finding import Case, Finding, Remedy
from .iommu_words import iommu_table, switched_off

_ID = "iommu-trap"
_FIX = Remedy("boot with iommu=pt and pci=disable_acs_redir=pci:0:0 (or the ports' ids), or switch the IOMMU off in "
              "the BIOS", ("acs",), True)


def judge(case: Case) -> Iterator[Finding]:
    off, ports = switched_off(case), case.snapshot.topology.path_ports()
    table, line = iommu_table(case), case.host.kernel.cmdline
    outcome, words = "skip", " ".join(off or ())
    if off is None or (off and ports and table is None):
        outcome, text = "unknown", (f"the command line cannot be read: {line.why()}" if off is None else f"whether "
                                    f"{words} is a trap here is unknown: no ACPI table in /sys nor in the kernel log")
    elif not off or not ports:
        text = "no port lies between accelerators" if off else "no word on the command line switches an IOMMU off"
    elif table != "IVRS":
        text = f"{words} is no trap here: the firmware gives no AMD IOMMU table (IVRS)"
    elif not uncovered(case, ports, line.value or ()) or "intremap" in words:
        outcome, text = "pass", f"{words}: no port between accelerators is left to the kernel's own ACS setting"
    else:
        bits = [acs for port in ports if (acs := case.snapshot.topology.bridges[port].acs.value)]
        outcome, text = "warn", (
            f"{words} does not keep the kernel from turning ACS on: the firmware gives an AMD IOMMU table (IVRS), "
            f"which interrupt remapping reads all the same: {sum(acs.ctl & 0x11 == 0x11 for acs in bits)} of "
            f"{len(ports)} ports between accelerators have SrcValid+ UpstreamFwd+, as the kernel sets them, "
            f"{sum(acs.redirects for acs in bits)} redirect; what was cleared by hand comes back at a port reset")
    yield Finding(_ID, "kernel command line", outcome, "effective", text, words, "an ACS option for every port" if
                  outcome == "warn" else "", (line.source,), _FIX if outcome == "warn" else None)
