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
    Heading.KERNEL, 60, Family.ERRORS, judges=("pcie.aer_owner",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    lost = losses(case, found.osc)
    whole = from_log.whole(case)
    code, outcome, text, remedy = "", "pass", "the kernel handles PCIe errors (AER) of every host bridge", None
    if lost:
        outcome, text, remedy = _lost(case, lost)
    elif "kernel" not in from_log.aer_owners(case) and whole:
        outcome, text = "skip", "no host bridge negotiated AER (a virtual machine, or no ACPI)"
    elif not whole:
        code = from_log.partial_code(case)
        outcome, text = "unknown", f"who handles PCIe errors of every host bridge is not {from_log.partial(case)}"
    yield Finding(_ID, "host bridges", outcome, "effective", text, "", "AER handled by the kernel",
                  (case.host.kernel.log.source,), remedy, code)


def _lost(case: Case, lost: list[Loss]) -> tuple[str, str, Remedy]:
    text = "; ".join(loss.text for loss in lost) + ": no AER line in the log is no proof of health"
    acs = case.spec.acs
    if acs.peer_redirect == "off" and (acs.at_boot_unit or acs.mechanism == "setpci"):
        text += ("; nor does an AER recovery start tunecheck-acs.service, which clears ACS redirect again after one")
    return "fail" if any(loss.against_spec for loss in lost) else "warn", text, lost[0].remedy
