"""kernel-lockdown: the kernel lets root write PCI configuration space, or nothing here depends on it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from ..remedies.acs_remedies import boot_fix
from ..remedies.redirect_gain import no_gain

CHECK = Check(
    "kernel-lockdown", "the kernel lets ACS be written, or nothing depends on it",
    Heading.BOOT, 80, Family.BOOT, judges=("kernel.lockdown",), compares=("platform.secure_boot",),
)
CODES = {
    "setpci-refused": "Kernel lockdown refuses the only way by which the specification clears ACS.",
    "unit-refused": "Kernel lockdown keeps tunecheck-acs.service, which is enabled, from working; the command line "
                    "form works.",
    "locked-down": "Kernel lockdown refuses writes to PCI configuration space, and nothing declared needs them.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    fact, acs, log = case.host.kernel.lockdown, case.spec.acs, case.host.kernel.log.value
    secure = case.host.platform.secure_boot.value
    secure = log.boot.secure_boot if secure is None and log else secure
    secure_boot = "" if secure is None else f", Secure Boot is {'on' if secure else 'off'}"
    locked = f"kernel lockdown ({fact.value}{secure_boot}) refuses writes to PCI configuration space"
    code, outcome, remedy = "ok", "pass", None
    wants = acs.peer_redirect == "off" and case.snapshot.topology.path_ports()
    gain = no_gain(case) if wants else None
    if fact.missing or fact.value == "none":
        text = f"no kernel lockdown: configuration space can be written{secure_boot}"
    elif fact.value is None:
        code, outcome, text = UNREAD, "unknown", f"the lockdown mode cannot be read: {fact.why()}"
        remedy = AS_ROOT if fact.absence is Absence.NO_PERMISSION else None
    elif wants and acs.mechanism == "setpci":
        code, outcome = "setpci-refused", "fail"
        text = f"{locked}; tunecheck-acs.service, by which alone the spec clears ACS, cannot work"
        remedy = gain.fix if gain and gain.fix else case.play(
            "acs", True, "set box_spec.acs.mechanism: disable_acs_redir", boot_fix(case, by_play=False))
    elif wants and case.host.acs_unit.value:
        code, outcome = "unit-refused", "warn"
        text = f"{locked}; tunecheck-acs.service is enabled and cannot clear a register; the command line form can"
        remedy = gain.fix if gain and gain.fix else case.play("acs")
    else:
        code, outcome = "locked-down", "skip"
        text = f"{locked}: setpci cannot change ACS, pci=disable_acs_redir= on the command line can"
    if gain is not None and outcome in ("fail", "warn"):
        text += f"; {gain.told}"
    # drivers/pci/pci-sysfs.c: LOCKDOWN_PCI_ACCESS
    yield Finding(_ID, code, "kernel", outcome, "effective", text, fact.value or "", "none" if remedy else "",
                  (fact.source,), remedy, absence=fact.absence if outcome == "unknown" else None)
