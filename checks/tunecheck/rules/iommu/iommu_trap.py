"""iommu-trap: on AMD, switching the IOMMU off on the command line does not keep the kernel from turning ACS on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..codes import NO_PORT, UNREAD, VIRTUAL_PORTS
from ..context import Case
from ..evidence_guard import NO_PORT_TEXT
from ..remedies.acs_line import uncovered
from ..remedies.acs_remedies import GUEST_PORTS, boot_fix
from ..remedies.iommu_remedies import iommu_table, switched_off
from ..remedies.redirect_gain import DRIVER_NOT_TOLD, REDIRECTS_NOTHING, no_gain

CHECK = Check(
    "iommu-trap", "no word on the command line switches the IOMMU off and ACS on",
    Heading.BOOT, 70, Family.IOMMU, needs=(Needs.WHOLE_TREE, Needs.WAY),
    good_skips=("not-switched-off", "no-amd-table"),
    compares=("kernel.cmdline.*iommu", "kernel.cmdline.intremap", "kernel.cmdline.pci"),
)
CODES = {
    "table-unread": "Whether the firmware describes an AMD IOMMU is not known: no ACPI table can be read.",
    "not-switched-off": "No word on the command line switches an IOMMU off.",
    "no-amd-table": "The firmware describes no AMD IOMMU (no IVRS table).",
    "kernel-turns-acs-on": "The next port reset or boot turns ACS redirect on.",
    REDIRECTS_NOTHING: "The next port reset or boot turns ACS redirect on, and the driver refuses peer access between "
                       "the boards: nothing is lost.",
    DRIVER_NOT_TOLD: "The next port reset or boot turns ACS redirect on between boards that NVIDIA's own driver never "
                     "lets reach each other, and whether it is the loaded one is not told.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    off, ports = switched_off(case), case.snapshot.topology.path_ports()
    table, line = iommu_table(case), case.host.kernel.cmdline
    outcome, words = "skip", " ".join(off or ())
    expected, fix = "", None
    if case.guest and case.spec.acs.peer_redirect == "leave":
        code, text = VIRTUAL_PORTS, GUEST_PORTS
    elif off is None:
        code, outcome, text = UNREAD, "unknown", f"the command line cannot be read: {line.why()}"
    elif not off:
        code, text = "not-switched-off", "no word on the command line switches an IOMMU off"
    elif not ports:
        code, text = NO_PORT, NO_PORT_TEXT
    elif table is None:
        code, outcome = "table-unread", "unknown"
        text = f"whether {words} is a trap here is unknown: no ACPI table in /sys nor in the kernel log"
    elif table != "IVRS":
        code, text = "no-amd-table", f"{words} is no trap here: the firmware gives no AMD IOMMU table (IVRS)"
    elif not uncovered(case, ports, line.value or ()) or "intremap" in words:
        code, outcome = "ok", "pass"
        text = f"{words}: no port between accelerators is left to the kernel's own ACS setting"
    else:
        code, outcome, text = "kernel-turns-acs-on", "warn", _now_and_later(case, ports, words)
        gain = no_gain(case)
        text += f"; {gain.told}" if gain else ""
        if gain is not None and gain.fix is not None:
            code, fix = gain.code, gain.fix
        else:
            expected, fix = "an ACS option for every port", boot_fix(case)
    yield Finding(_ID, code, "kernel command line", outcome, "effective", text, words, expected, (line.source,), fix,
                  line.absence if outcome == "unknown" and off is None else None)


def _now_and_later(case: Case, ports: Sequence[str], words: str) -> str:
    """Return what is bad first: that ports redirect now, else what they do after the next reset or boot, and why."""
    told = [case.snapshot.topology.bridges[port].acs for port in ports]
    bits = [acs.value for acs in told if acs.value]
    kernels, redirect = sum(acs.ctl & 0x11 == 0x11 for acs in bits), sum(acs.redirects for acs in bits)
    unread = sum(not acs.known for acs in told)
    between = f"{len(ports)} ports between accelerators"
    now = (f"now {redirect} of {between} redirect peer traffic" if redirect else
           f"whether one of {between} redirects peer traffic now is not known, the ACS bits of {unread} cannot be read"
           if unread else f"now none of {between} redirects peer traffic")
    again = " again" if bits else ""
    later = (f"the next port reset, AER recovery or boot turns ACS redirect on{again}, also where it was cleared by "
             "hand: the kernel asks for ACS as soon as it looks up the IOMMU's table (IVRS), and "
             f"{words} does not keep it from that ({kernels} of {len(ports)} have SrcValid+ UpstreamFwd+, as the "
             "kernel sets them)")
    return f"{now}; {later}" if redirect else f"{later}; {now}"
