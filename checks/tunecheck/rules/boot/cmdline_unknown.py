"""cmdline-unknown: the kernel parses every tuning word on its command line that the spec does not declare.

cmdline-rejected judges the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import words
from ...parsers.kernel.kernel_params import INEFFECTIVE, VALUES, name_of, unparsed
from ...spec.frozen import declared_tokens
from ...util.text import some
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from .cmdline_rejected import rejection

CHECK = Check(
    "cmdline-unknown", "the kernel parses every PCI, IOMMU and ASPM word it was given",
    Heading.BOOT, 30, Family.BOOT,
)
CODES = {
    "not-parsed": "The kernel does not parse a word on its command line, so the word changes nothing.",
}
_ID = CHECK.id
#: More words than any command line has.
_MOST = 100
_REMOVE = Remedy("remove it from the boot configuration that sets it (look in /etc/default/grub and grub.d)", (), True)


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield from _from_log_alone(case)
        yield Finding(_ID, UNREAD, "kernel command line", "unknown", "effective", "the running command line cannot be "
                      f"read: {running.why()}", evidence=(running.source,), absence=running.absence)
        return
    declared, told, all_parsed = words(declared_tokens(case.spec)), [], True
    for word in words(running.value):
        reason, source = rejection(case, word)
        # The kernel leaves some words to user space (splash): they do not matter here.
        if not reason or not (name_of(word) in {"pci", *VALUES} or unparsed(word)):
            continue
        if word in declared:        # cmdline-rejected judges the declared ones
            told.append(word[:200])
            continue
        all_parsed, advice = False, unparsed(word)
        if source == case.host.kernel.log.source:
            reason += f": rejected by the kernel{f'; {advice}' if advice and word not in INEFFECTIVE else ''}"
        yield Finding(_ID, "not-parsed", word[:200], "warn", "effective", f"{word[:200]} changes nothing: {reason}",
                      "not parsed", "words that the kernel parses", (running.source, source), _REMOVE)
    if all_parsed:
        complaints = case.host.kernel.log.value.rejected.items() if case.host.kernel.log.value else ()
        left = " ".join(word for word, line in complaints if line.startswith("Unknown kernel"))[:200]
        yield Finding(_ID, "ok", "kernel command line", "pass", "effective", "every PCI, IOMMU and ASPM word on the "
                      "command line is one that the kernel parses"
                      + (f", but for {some(told, 4, ', ')} (cmdline-rejected)" if told else "")
                      + (f"; other words were handed to user space, which does not say that they have no effect: {left}"
                         if left else ""), evidence=(running.source,))


def _from_log_alone(case: Case) -> Iterator[Finding]:
    """Yield what the kernel says of its own command line, where that itself cannot be read."""
    log = case.host.kernel.log
    for word, line in islice(log.value.rejected.items() if log.value else (), _MOST):
        if name_of(word) in {"pci", *VALUES}:
            yield Finding(_ID, "not-parsed", word[:200], "warn", "effective", f"{word[:200]} changes nothing: "
                          f"{line[:200]}: rejected by the kernel", "not parsed", "words that the kernel parses",
                          (log.source,), _REMOVE)
