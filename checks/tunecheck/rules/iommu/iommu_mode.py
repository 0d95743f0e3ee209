"""iommu-mode: the accelerators' IOMMU groups are in the declared mode.

The mode is the type of the group. It is not the command line, nor "Default domain type" in the kernel log: the kernel
prints that without an IOMMU, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ...model.absence import Absence
from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.param_conflicts import split
from ..check import Check, Family, Heading, Needs
from ..codes import NO_ACCELERATOR, NOT_DECLARED, UNREAD
from ..context import Case
from ..remedies import boot_remedies
from ..remedies.acs_remedies import boot_fix, declared_line, line_fix
from ..remedies.iommu_remedies import ON_IN_BIOS, needs_iommu, switched_off
from ..remedies.redirect_gain import no_gain

CHECK = Check(
    "iommu-mode", "the accelerators' IOMMU groups are in the declared mode",
    Heading.BOOT, 60, Family.IOMMU, in_trial=True, needs=(Needs.TREE,), judges=("iommu.mode",),
)
CODES = {
    "unknown-type": "The IOMMU group has a type that is not known here.",
    "no-group-for-guests": "There is no IOMMU group, and vfio-pci hands nothing to a virtual machine without one.",
    "translated": "The IOMMU translates the accelerators' addresses, and the specification does not ask for that.",
    "iommu-off": "No IOMMU is at work where the specification asks for pass-through.",
    "differs": "The IOMMU group is in another mode than the specification declares.",
}
_ID = CHECK.id
_MODES = {"identity": "pt", "DMA": "translated", "DMA-FQ": "translated", "none": "off"}
_MEANINGS = {"pt": "passthrough (group type identity)", "translated": "translated (group type DMA or DMA-FQ)",
          "off": "no IOMMU group"}
_BOOT = {"pt": "iommu=pt", "off": "iommu=off"}

#: Words that leave the accelerators without a group, and words that ask for passthrough.
_NO_GROUP = frozenset(("iommu=off", "amd_iommu=off", "intel_iommu=off"))
_PASSES = frozenset(("iommu=pt", "iommu.passthrough=1"))
_TRANSLATES = "iommu=nopt"
_LOG = '"iommu: Default domain type" and what stands around it'


def judge(case: Case) -> Iterator[Finding]:
    groups = case.host.iommu
    if not groups:
        yield Finding(_ID, NO_ACCELERATOR, "accelerators", "skip", "effective", "no accelerator found")
        return
    unread = [fact for fact in groups.values() if fact.value is None]
    if unread and case.host.kernel.log.known and unread[0].absence is Absence.NOT_IN_IMPORT \
            and unread[0].source.endswith("/iommu_group"):
        # lspci shows a group only where there is one, and this log does not say that the kernel made none.
        yield Finding(_ID, UNREAD, "accelerators", "unknown", "effective", "whether the accelerators are in an IOMMU "
                      "group is in none of these texts: lspci shows no group, and the kernel log does not cover its "
                      "making; a recording of the box holds it (sudo tunecheck record)", "?",
                      case.spec.iommu if case.frozen else "", (unread[0].source,), absence=Absence.LOG_TOO_SHORT)
        return
    if unread:
        yield Finding(_ID, UNREAD, "accelerators", "unknown", "effective", f"the IOMMU group type cannot be read: "
                      f"{unread[0].why()}", "?", case.spec.iommu if case.frozen else "", (unread[0].source,),
                      absence=unread[0].absence)
        return
    by_type: dict[str, list[str]] = {}
    for bdf, fact in groups.items():
        by_type.setdefault(fact.value or "", []).append(bdf)
    for kind, devices in by_type.items():
        yield _judge(case, kind, devices, tuple(groups[bdf].source for bdf in devices))


def _judge(case: Case, kind: str, devices: list[str], evidence: tuple[str, ...]) -> Finding:
    wanted, mode = case.spec.iommu, _MODES.get(kind)
    subject = ", ".join(devices)
    described = _MEANINGS.get(mode or "", f"group type {kind}")
    if mode is None:
        return Finding(_ID, "unknown-type", subject, "unknown", "effective",
                       f"unknown IOMMU group type {kind[:40]!r} at {subject}", kind, wanted, evidence)
    if case.spec.accelerators.kernel_driver == "vfio-pci" and mode == "off":
        return Finding(_ID, "no-group-for-guests", subject, "fail", "effective", f"{described}, and vfio-pci "
                       f"hands nothing to a virtual machine without one: {subject}", kind, "an IOMMU group", evidence,
                       _for_guests(case))
    if wanted == "leave":
        risky = (mode == "translated" and len(case.host.iommu) > 1
                 and case.spec.accelerators.kernel_driver != "vfio-pci")
        code, outcome = ("translated", "warn") if risky else (NOT_DECLARED, "skip")
        danger = "; peer writes under a translating IOMMU can be dropped without an error" if risky else ""
        gain = no_gain(case) if risky else None
        danger += f"; {gain.no_traffic}" if gain else ""
        asked = "the spec leaves the IOMMU alone" if case.frozen else "no spec given"
        wish = '"pt" or "off" in box_spec.iommu' if case.frozen else "iommu=pt on the command line"
        found = f"{described}{danger}, at {subject}; {asked}" if risky else f"{asked}; found {described} at {subject}"
        vain = boot_remedies.without_effect(case, "iommu=pt", _LOG) if risky and not case.frozen else None
        asks = risky and not vain and not (gain and gain.refused)
        return Finding(_ID, code, subject, outcome, "effective", found, kind, wish if asks else "", evidence, vain)
    if wanted == mode:
        return Finding(_ID, "ok", subject, "pass", "effective", f"{subject}: {described}", kind, _MEANINGS[wanted],
                       evidence)
    if (wanted, mode) == ("pt", "off"):
        running = case.host.kernel.cmdline.value
        by = _words(case, _NO_GROUP)
        where = (f"{' '.join(by)} on the command line" if by else "off in BIOS or on the command line"
                 if running is None else "no word of the command line switches it off: look in the BIOS")
        return Finding(_ID, "iommu-off", subject, "warn", "effective", f"no IOMMU is at work ({where}); DMA is "
                       f"untranslated all the same, at {subject}", kind, _MEANINGS[wanted], evidence, _is_off(case, by))
    return Finding(_ID, "differs", subject, "fail", "effective", f"{described} at {subject}", kind, _MEANINGS[wanted],
                   evidence, _fix(case, wanted, mode))


def _words(case: Case, among: Collection[str]) -> list[str]:
    """Return the running words that are among these, each once."""
    running = case.host.kernel.cmdline.value or ()
    return list(dict.fromkeys(word for token in running for word in split(token) if word in among))


def _is_off(case: Case, by: list[str]) -> Remedy:
    """Return how the IOMMU gets on. ``by``: the words that switch it off. The mode "off" is offered only where no other
    check then asks for an IOMMU."""
    if by:
        fix = boot_fix(case) if switched_off(case) else line_fix(case)
    else:
        unread = case.host.kernel.cmdline.value is None
        line = ", and take off the command line what switches it off, where it has such a word" if unread else ""
        fix = Remedy(ON_IN_BIOS + line, (), True, Place.FIRMWARE)
    if needs_iommu(case):
        return fix
    return replace(fix, text='peer-to-peer works without an IOMMU: state box_spec.iommu: "off" if it is meant so; else '
                   + fix.text, place=Place.INVENTORY)


def _for_guests(case: Case) -> Remedy:
    """Return how the IOMMU gets on for virtual machines."""
    by = _words(case, _NO_GROUP)
    if not by:
        return Remedy(f"{ON_IN_BIOS}; on Intel also intel_iommu=on", (), True, Place.FIRMWARE)
    tokens, rest = boot_remedies.holding(case, by)
    return boot_remedies.add(case, rest, tokens) if rest else boot_remedies.remove(case, tokens)


def _fix(case: Case, wanted: str, mode: str) -> Remedy:
    """Return how to boot in the mode that is declared."""
    if wanted == "translated":
        return _translated(case, mode)
    word = _BOOT[wanted]
    if word in boot_remedies.lacking(case):
        return line_fix(case)
    return boot_remedies.without_effect(case, word, _LOG) or line_fix(case)


def _translated(case: Case, mode: str) -> Remedy:
    """Return how to boot with an IOMMU that translates: no word declares that, so what says otherwise goes."""
    unwanted, spec = _NO_GROUP | _PASSES, case.spec
    by = _words(case, unwanted)
    kept = tuple(word for word in spec.kernel.cmdline if not set(split(word)) & unwanted)
    if by or kept != spec.kernel.cmdline:
        return declared_line(case, replace(spec, kernel=replace(spec.kernel, cmdline=kept)), by)
    if mode == "off":
        return Remedy(ON_IN_BIOS, (), True, Place.FIRMWARE)
    return boot_remedies.without_effect(case, _TRANSLATES, _LOG) or case.play(
        "cmdline", True, f'add "{_TRANSLATES}" to box_spec.kernel.cmdline', boot_remedies.add(case, [_TRANSLATES]))
