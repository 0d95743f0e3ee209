"""cmdline-unknown: the kernel parses every tuning word on its command line that the spec does not declare.

cmdline-rejected judges the declared ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import words
from ...parsers.kernel.kernel_params import INEFFECTIVE, VALUES, corrected, name_of, unparsed
from ...parsers.kernel.param_conflicts import clash, split
from ...spec.frozen import declared_tokens
from ...util.text import some
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from ..remedies import boot_remedies
from ..remedies.iommu_remedies import iommu_table
from .cmdline_rejected import rejection

CHECK = Check(
    "cmdline-unknown", "the kernel parses every PCI, IOMMU and ASPM word it was given",
    Heading.BOOT, 30, Family.BOOT, compares=("kernel.cmdline.*",),
)
CODES = {
    "not-parsed": "The kernel does not parse a word on its command line, so the word changes nothing.",
    "other-maker": "A word on the command line is for the IOMMU of another maker, so it changes nothing.",
    "contradict": "Two words about the IOMMU on the command line contradict each other.",
}
_ID = CHECK.id
_IOMMU = ("iommu", "amd_iommu", "intel_iommu", "intremap", "nointremap", "iommu.passthrough", "iommu.strict")
_LONGEST = 1000
#: More words than any command line has.
_MOST = 100
_SETS = ("what sets it: box_spec.kernel.cmdline where a play of tunecheck did, else the boot configuration (look in "
         "/etc/default/grub and grub.d)")
_REMOVE = Remedy(f"remove the word from {_SETS}", (), True)


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield from _from_log_alone(case)
        yield Finding(_ID, UNREAD, "kernel command line", "unknown", "effective", "the running command line cannot be "
                      f"read: {running.why()}", evidence=(running.source,), absence=running.absence)
        return
    declared, told, wrong = words(declared_tokens(case.spec)), [], list[tuple[str, str, str]]()
    for word in words(running.value):
        reason, source = rejection(case, word)
        # The kernel leaves some words to user space (splash): they do not matter here.
        if not reason or not (name_of(word) in {"pci", *VALUES} or unparsed(word)):
            continue
        if word in declared:        # cmdline-rejected judges the declared ones
            told.append(word[:200])
            continue
        advice = unparsed(word)
        if source == case.host.kernel.log.source:
            reason += f": rejected by the kernel{f'; {advice}' if advice and word not in INEFFECTIVE else ''}"
        wrong.append((word, reason, source))
    fix = _edit([word for word, _, _ in wrong])
    for word, reason, source in wrong:
        yield Finding(_ID, "not-parsed", word[:200], "warn", "effective", f"{word[:200]} changes nothing; {reason}",
                      "not parsed", "words that the kernel parses", (running.source, source), _fix(word, fix))
    apart = list(_apart(case, running.value, running.source))
    yield from apart
    if not wrong and not apart:
        complaints = case.host.kernel.log.value.rejected.items() if case.host.kernel.log.value else ()
        left = " ".join(word for word, line in complaints if line.startswith("Unknown kernel"))[:200]
        yield Finding(_ID, "ok", "kernel command line", "pass", "effective", "every PCI, IOMMU and ASPM word on the "
                      "command line is one that the kernel parses"
                      + (f", but for {some(told, 4, ', ')} (cmdline-rejected)" if told else "")
                      + (f"; other words were handed to user space, which does not say that they have no effect: {left}"
                         if left else ""), evidence=(running.source,))


def _apart(case: Case, line: tuple[str, ...], source: str) -> Iterator[Finding]:
    """Yield findings about words that are the other maker's, or contradict each other. Those that the specification
    declares are cmdline-conflict's."""
    declared = {word for token in declared_tokens(case.spec) for word in split(token)}
    placed = list(dict.fromkeys(word for token in line[:_LONGEST] for word in split(token)
                                if name_of(word) in _IOMMU))[:_MOST]
    table = iommu_table(case)
    other = {"IVRS": "intel_iommu", "DMAR": "amd_iommu"}.get(table or "", "")
    for word in placed:
        if other and name_of(word) == other:
            yield Finding(_ID, "other-maker", word[:200], "warn", "effective", f"{word[:200]} changes nothing; the "
                          f"firmware describes an IOMMU of {'AMD' if table == 'IVRS' else 'Intel'} ({table})",
                          word[:200], "the words of this maker's IOMMU", (source,), _REMOVE)
    for at, word in enumerate(placed):
        for later in placed[at + 1:]:
            why = clash(word, later)
            if why and not {word, later} & declared:
                yield Finding(_ID, "contradict", f"{word[:100]} {later[:100]}", "warn", "effective", f"{word[:100]} "
                              f"and {later[:100]} contradict each other; {why}", f"{word[:100]} {later[:100]}",
                              "one of them", (source,), _REMOVE)


def _from_log_alone(case: Case) -> Iterator[Finding]:
    """Yield what the kernel says of its own command line, where that itself cannot be read."""
    log = case.host.kernel.log
    wrong = [(word, line) for word, line in islice(log.value.rejected.items() if log.value else (), _MOST)
             if name_of(word) in {"pci", *VALUES}]
    fix = _edit([word for word, _ in wrong])
    for word, line in wrong:
        yield Finding(_ID, "not-parsed", word[:200], "warn", "effective", f"{word[:200]} changes nothing; "
                      f"{line[:200]}: rejected by the kernel", "not parsed", "words that the kernel parses",
                      (log.source,), _fix(word, fix))


def _fix(word: str, edit: Remedy) -> Remedy:
    """Return what to do about a word that the kernel does not parse. ``edit``: about all that do not stay."""
    return boot_remedies.leave(word) if word in INEFFECTIVE else edit


def _edit(wrong: Sequence[str]) -> Remedy:
    """Return how all of these words are put right: they stand in one place, so it is one edit, and one reboot."""
    meant = {word: corrected(word) for word in wrong if word not in INEFFECTIVE}
    right = [f"{word[:200]} to {other[:200]}" for word, other in meant.items() if other]
    if not right:
        return _REMOVE
    away = [word[:200] for word, other in meant.items() if not other]
    more = f", and remove {some(away, 8)}," if away else ""
    return Remedy(f"correct {some(right, 8)}{more} in {_SETS}", (), True)
