"""iommu-mode: the accelerators' IOMMU groups are in the declared mode.

The mode is the type of the group. It is not the command line, nor "Default domain type" in the kernel log: the kernel
prints that without an IOMMU, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.absence import Absence
from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading, Needs
from ..codes import NO_ACCELERATOR, NOT_DECLARED, UNREAD
from ..context import Case
from ..remedies import boot_remedies
from ..remedies.acs_remedies import line_fix

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

_IS_OFF = Remedy('peer-to-peer works without an IOMMU: state box_spec.iommu: "off" if it is meant so; else switch the '
                 "IOMMU on in the BIOS (AMD-Vi, VT-d), and take iommu=off and amd_iommu=off off the command line",
                 place=Place.INVENTORY)


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
                       Remedy("switch the IOMMU on in the BIOS (AMD-Vi, VT-d); on Intel also intel_iommu=on", (), True,
                              Place.FIRMWARE))
    if wanted == "leave":
        risky = (mode == "translated" and len(case.host.iommu) > 1
                 and case.spec.accelerators.kernel_driver != "vfio-pci")
        code, outcome = ("translated", "warn") if risky else (NOT_DECLARED, "skip")
        danger = "; peer writes under a translating IOMMU can be dropped without an error" if risky else ""
        asked = "the spec leaves the IOMMU alone" if case.frozen else "no spec given"
        wish = '"pt" or "off" in box_spec.iommu' if case.frozen else "iommu=pt on the command line"
        found = f"{described}{danger}, at {subject}; {asked}" if risky else f"{asked}; found {described} at {subject}"
        return Finding(_ID, code, subject, outcome, "effective", found, kind, wish if risky else "", evidence)
    if wanted == mode:
        return Finding(_ID, "ok", subject, "pass", "effective", f"{subject}: {described}", kind, _MEANINGS[wanted],
                       evidence)
    if (wanted, mode) == ("pt", "off"):
        return Finding(_ID, "iommu-off", subject, "warn", "effective", "no IOMMU is at work (off in BIOS or on the "
                       f"command line); DMA is untranslated all the same, at {subject}", kind, _MEANINGS[wanted],
                       evidence, _IS_OFF)
    return Finding(_ID, "differs", subject, "fail", "effective", f"{described} at {subject}", kind, _MEANINGS[wanted],
                   evidence,
                   _fix(case, _BOOT.get(wanted)))


def _fix(case: Case, word: str | None) -> Remedy:
    """Return how to boot in the mode that is declared; ``word`` asks the kernel for it."""
    if word is None:
        return case.play("cmdline", True)
    if word in boot_remedies.lacking(case):
        return line_fix(case)
    return (boot_remedies.without_effect(case, word, '"iommu: Default domain type" and what stands around it') or
            case.play("cmdline", True, by_hand=boot_remedies.add(case, [word])))
