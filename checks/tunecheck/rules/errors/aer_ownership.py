"""aer-ownership: the kernel, not the firmware, handles PCIe errors, so that they reach the kernel log."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log
from .aer_remedies import Loss, losses

CHECK = Check(
    "aer-ownership", "the kernel, not the firmware, handles PCIe errors",
    Heading.KERNEL, 60, Family.ERRORS, judges=("pcie.aer_owner",), happening=False,
)
CODES = {
    "services-off": "The PCIe port services are off, so the kernel handles no PCIe error.",
    "support-missing": "The kernel lacks support that it needs to ask for control of PCIe errors.",
    "not-asked": "The kernel took other PCIe features and did not ask for control of PCIe errors.",
    "firmware-keeps-it": "The firmware keeps PCIe errors to itself.",
    "osc-failed": "The firmware's _OSC failed, and it keeps PCIe errors to itself.",
    "switched-off": "A word on the command line turns PCIe error reporting off.",
    "not-negotiated": "No host bridge negotiated the control of PCIe errors.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    lost = losses(case, log.osc if log else {})
    if log is None and not lost:
        yield from_log.unread(case, _ID)
        return
    complete = from_log.is_complete(case)
    code, outcome, text, remedy = "ok", "pass", "the kernel handles PCIe errors (AER) of every host bridge", None
    if lost:
        code, outcome, text, remedy = _lost(case, lost)
    elif "kernel" not in from_log.aer_owners(case) and complete:
        code, outcome, text = "not-negotiated", "skip", "no host bridge negotiated AER (a virtual machine, or no ACPI)"
    elif not complete:
        code, outcome = from_log.incomplete_code(case), "unknown"
        text = f"who handles PCIe errors of every host bridge is not {from_log.limits_of_log(case)}"
    yield Finding(_ID, code, "host bridges", outcome, "effective", text, "", "AER handled by the kernel",
                  (case.host.kernel.log.source if log else case.host.kernel.cmdline.source,), remedy)


def _lost(case: Case, lost: list[Loss]) -> tuple[str, str, str, Remedy]:
    """Return code, outcome, text and remedy of the finding. The code is that of the first loss; the text names all of
    them."""
    text = "; ".join(loss.text for loss in lost) + "; no AER line in the log is no proof of health"
    acs = case.spec.acs
    if acs.peer_redirect == "off" and (acs.at_boot_unit or acs.mechanism == "setpci"):
        text += ("; nor does an AER recovery start tunecheck-acs.service, which clears ACS redirect again after one")
    outcome = "fail" if any(loss.against_spec for loss in lost) else "warn"
    return lost[0].code, outcome, text, lost[0].remedy
