"""cmdline-pending: the next boot has the PCI, IOMMU and ASPM words that run now, also those that nobody declared."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence, in_the_way
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import missing, words
from ...parsers.kernel.kernel_params import VALUES, name_of
from ...spec.frozen import declared_tokens
from ...util.text import some
from ..check import Check, Family, Heading
from ..codes import TRIAL_OPEN, UNREAD
from ..context import Case
from ..remedies import boot_remedies

CHECK = Check(
    "cmdline-pending", "the next boot has the tuning words that run now",
    Heading.BOOT, 40, Family.BOOT, judges=("boot.pending",),
)
CODES = {
    "no-boot-loader": "The machine has no boot loader of its own, so no next boot can be compared.",
    "reboot-pending": "The boot loader's default entry has a word that does not run.",
    "lost-at-next-boot": "A word runs that the boot loader's default entry does not have.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running, generated = case.host.kernel.cmdline, case.host.boot.generated
    subject, evidence, same = "kernel command line", (running.source, generated.source), True
    if (unread := in_the_way(running, generated)) is not None:
        no_loader = unread.absence is Absence.NO_BOOT_LOADER
        code, outcome = ("no-boot-loader", "skip") if no_loader else (UNREAD, "unknown")
        yield Finding(_ID, code, subject, outcome, "generated", "whether the next boot has the same parameters cannot "
                      f"be told: {unread.why()}", evidence=evidence, absence=unread.absence)
        return
    assert running.value is not None and generated.value is not None
    differing = [*_tuning(running.value, generated.value), *_tuning(generated.value, running.value)]
    if case.open_trial and differing:
        named = some(differing, 8, ", ")
        yield Finding(_ID, TRIAL_OPEN, subject, "warn", "generated", "this trial boot is not committed, and the boot "
                      f"loader's default entry differs from it in {named}; without a commit the next boot has the "
                      "words of that entry", named, "a trial boot that is committed", evidence,
                      boot_remedies.commit(case, "cmdline"))
        return
    # cmdline-token judges the declared words, acs-persistence the declared ACS options.
    others, told = {*words(declared_tokens(case.spec))}, []
    for code, here, there, text in (
            ("reboot-pending", generated.value, running.value, "set, reboot pending; it is in the boot loader's "
             "default entry, but does not run"),
            ("lost-at-next-boot", running.value, generated.value, "is not in the boot loader's default entry; it "
             "runs now, and the next boot loses it")):
        for word in _tuning(here, there):
            acs = case.spec.acs.peer_redirect == "off" and "_acs" in word
            if word in others or acs:
                told.append(f"{word[:200]} ({'acs-persistence' if word not in others else 'cmdline-token'})")
                continue
            same = False
            remedy = (boot_remedies.keep(case, word) if code == "lost-at-next-boot" else
                      Remedy("reboot, or remove the word from the boot configuration", (), True))
            yield Finding(_ID, code, word, "warn", "generated", f"{word} {text}", "", "now and then the same",
                          evidence, remedy)
    if same:
        but = f", but for {some(told, 4, ', ')}" if told else ""
        yield Finding(_ID, "ok", subject, "pass", "generated",
                      f"the next boot has the same PCI, IOMMU and ASPM words{but}", evidence=evidence)


def _tuning(here: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    """Return the PCI, IOMMU and ASPM words of ``here`` that ``there`` lacks."""
    return [word for word in missing(here, there) if name_of(word) in {"pci", *VALUES}]
