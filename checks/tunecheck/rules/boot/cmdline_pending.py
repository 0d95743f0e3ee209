"""cmdline-pending: the next boot has the PCI, IOMMU and ASPM words that run now, also those nobody declared."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import missing, words
from ...parsers.kernel.kernel_params import VALUES, name_of
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..context import Case
from . import boot_remedies

CHECK = Check(
    "cmdline-pending", "the next boot has the tuning words that run now",
    Heading.BOOT, 40, Family.BOOT, judges=("boot.pending",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running, generated = case.host.kernel.cmdline, case.host.boot.generated
    subject, evidence, found = "kernel command line", (running.source, generated.source), False
    if running.value is None or generated.value is None:
        unread = running if running.value is None else generated
        outcome = "skip" if unread.absence is Absence.NO_BOOT_LOADER else "unknown"
        yield Finding(_ID, subject, outcome, "generated", "whether the next boot has the same parameters cannot be "
                      f"told: {unread.why()}", evidence=evidence, absence=unread.absence)
        return
    # Declared ones are cmdline-token's, the declared ACS options acs-persistence's.
    others = {*words(declared_tokens(case.spec))}
    for here, there, text, runs in (
            (generated.value, running.value, "set, reboot pending: it is in the boot loader's default entry, but does "
             "not run", False),
            (running.value, generated.value, "runs, but is not in the boot loader's default entry: the next boot loses "
             "it", True)):
        for word in missing(here, there):
            acs = case.spec.acs.peer_redirect == "off" and "_acs" in word
            if name_of(word) in {"pci", *VALUES} and word not in others and not acs:
                found = True
                yield Finding(_ID, word, "warn", "generated", f"{word} {text}", "", "now and then the same", evidence,
                              boot_remedies.keep(word) if runs else Remedy("reboot, or remove it", (), True))
    if not found:
        yield Finding(_ID, subject, "pass", "generated", "the next boot has the same PCI, IOMMU and ASPM words",
                      evidence=evidence)
