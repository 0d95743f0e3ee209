"""iommu-trap: on AMD, switching the IOMMU off on the command line does not keep the kernel from turning ACS on."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import NO_PORT, Finding
from ..acs.acs_persistence import uncovered
from ..acs.acs_remedies import GUEST_PORTS, boot_fix
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..evidence_guard import NO_PORT_TEXT
from .iommu_remedies import iommu_table, switched_off

CHECK = Check(
    "iommu-trap", "no word on the command line switches the IOMMU off and ACS on",
    Heading.BOOT, 70, Family.IOMMU, needs=(Needs.WHOLE_TREE, Needs.WAY),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    off, ports = switched_off(case), case.snapshot.topology.path_ports()
    table, line = iommu_table(case), case.host.kernel.cmdline
    outcome, code, words = "skip", "", " ".join(off or ())
    if case.guest and case.spec.acs.peer_redirect == "leave":
        text = GUEST_PORTS
    elif off is None or (off and ports and table is None):
        outcome, text = "unknown", (f"the command line cannot be read: {line.why()}" if off is None else f"whether "
                                    f"{words} is a trap here is unknown: no ACPI table in /sys nor in the kernel log")
    elif not off or not ports:
        code, text = (NO_PORT, NO_PORT_TEXT) if off else ("", "no word on the command line switches an IOMMU off")
    elif table != "IVRS":
        text = f"{words} is no trap here: the firmware gives no AMD IOMMU table (IVRS)"
    elif not uncovered(case, ports, line.value or ()) or "intremap" in words:
        outcome, text = "pass", f"{words}: no port between accelerators is left to the kernel's own ACS setting"
    else:
        bits = [acs for port in ports if (acs := case.snapshot.topology.bridges[port].acs.value)]
        kernels, redirect = sum(acs.ctl & 0x11 == 0x11 for acs in bits), sum(acs.redirects for acs in bits)
        outcome, text = "warn", (
            f"{words} does not keep the kernel from turning ACS on: it asks for ACS as soon as it looks up the IOMMU's "
            "table (IVRS), though neither translation nor interrupt remapping starts then: "
            f"{kernels} of {len(ports)} ports between accelerators have SrcValid+ UpstreamFwd+, as the kernel sets "
            f"them, {redirect} redirect; what was cleared by hand comes back at a port reset")
    yield Finding(_ID, "kernel command line", outcome, "effective", text, words, "an ACS option for every port" if
                  outcome == "warn" else "", (line.source,), boot_fix(case) if outcome == "warn" else None, code,
                  line.absence if outcome == "unknown" and off is None else None)
