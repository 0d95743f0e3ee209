"""cmdline-unknown: the kernel parses every tuning word on its command line, also those the spec does not declare."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import words
from ...parsers.kernel.kernel_params import INEFFECTIVE, VALUES, name_of, unparsed
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..context import Case
from .cmdline_rejected import rejection

CHECK = Check(
    "cmdline-unknown", "the kernel parses every PCI, IOMMU and ASPM word it was given",
    Heading.BOOT, 30, Family.BOOT,
)
_ID = CHECK.id
_REMOVE = Remedy("remove it from the boot configuration that sets it (look in /etc/default/grub and grub.d)", (), True)


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective", f"the running command line cannot be read: "
                      f"{running.why()}", evidence=(running.source,), absence=running.absence)
        return
    declared, found = words(declared_tokens(case.spec)), False
    for word in words(running.value):
        reason, source = rejection(case, word)
        # What the kernel leaves to user space (splash) is no matter; the declared words are cmdline-rejected's.
        if not reason or word in declared or not (name_of(word) in {"pci", *VALUES} or unparsed(word)):
            continue
        found, advice = True, unparsed(word)
        if source == case.host.kernel.log.source:
            reason += f": rejected by the kernel{f'; {advice}' if advice and word not in INEFFECTIVE else ''}"
        yield Finding(_ID, word[:200], "warn", "effective", f"{word[:200]} changes nothing: {reason}", "not parsed",
                      "words that the kernel parses", (running.source, source), _REMOVE)
    if not found:
        told = case.host.kernel.log.value.rejected.items() if case.host.kernel.log.value else ()
        left = " ".join(word for word, line in told if line.startswith("Unknown kernel"))[:200]
        yield Finding(_ID, "kernel command line", "pass", "effective", "every PCI, IOMMU and ASPM word on the command "
                      "line is one that the kernel parses" + (f"; of others it did not know: {left}" if left else ""),
                      evidence=(running.source,))
