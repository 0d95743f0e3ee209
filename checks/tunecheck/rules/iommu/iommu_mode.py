"""iommu-mode: the accelerators' IOMMU groups are in the declared mode.

The mode is the group's type, not the command line, and not the log's "Default domain type", which is printed
without any IOMMU too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..boot import boot_remedies
from ..check import Check, Family, Heading, Needs
from ..context import Case

CHECK = Check(
    "iommu-mode", "the accelerators' IOMMU groups are in the declared mode",
    Heading.BOOT, 60, Family.IOMMU, in_trial=True, needs=(Needs.TREE,), judges=("iommu.mode",),
)
_ID = CHECK.id
_MODES = {"identity": "pt", "DMA": "translated", "DMA-FQ": "translated", "none": "off"}
_WORDS = {"pt": "passthrough (group type identity)", "translated": "translated (group type DMA or DMA-FQ)",
          "off": "no IOMMU group"}
_BOOT = {"pt": "iommu=pt", "off": "iommu=off"}


def judge(case: Case) -> Iterator[Finding]:
    groups = case.host.iommu
    if not groups:
        yield Finding(_ID, "accelerators", "skip", "effective", "no accelerator found")
        return
    unread = [fact for fact in groups.values() if fact.value is None]
    if unread:
        yield Finding(_ID, "accelerators", "unknown", "effective", f"the IOMMU group type cannot be read: "
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
    seen = _WORDS.get(mode or "", f"group type {kind}")
    if mode is None:
        return Finding(_ID, subject, "unknown", "effective", f"{subject}: unknown IOMMU group type {kind[:40]!r}", kind,
                       wanted, evidence)
    if case.spec.accelerators.kernel_driver == "vfio-pci" and mode == "off":
        return Finding(_ID, subject, "fail", "effective", f"{subject}: {seen}, and vfio-pci hands nothing to a virtual "
                       "machine without one", kind, "an IOMMU group", evidence,
                       Remedy("switch the IOMMU on in the BIOS (AMD-Vi, VT-d); on Intel also intel_iommu=on", (), True,
                              Place.FIRMWARE))
    if wanted == "leave":
        risky = (mode == "translated" and len(case.host.iommu) > 1
                 and case.spec.accelerators.kernel_driver != "vfio-pci")
        danger = ": peer writes under a translating IOMMU can be dropped without an error" if risky else ""
        asked = "the spec leaves the IOMMU alone" if case.frozen else "no spec given"
        wish = '"pt" or "off" in box_spec.iommu' if case.frozen else "iommu=pt on the command line"
        return Finding(_ID, subject, "warn" if risky else "skip", "effective",
                       f"{asked}; found {seen} at {subject}{danger}", kind, wish if risky else "", evidence)
    if wanted == mode:
        return Finding(_ID, subject, "pass", "effective", f"{subject}: {seen}", kind, _WORDS[wanted], evidence)
    if (wanted, mode) == ("pt", "off"):
        return Finding(_ID, subject, "warn", "effective", f"{subject}: no IOMMU is at work (off in BIOS or on the "
                       "command line); DMA is untranslated all the same", kind, _WORDS[wanted], evidence)
    return Finding(_ID, subject, "fail", "effective", f"{subject}: {seen}", kind, _WORDS[wanted], evidence,
                   case.play("cmdline", True, by_hand=boot_remedies.add(_BOOT[wanted]) if wanted in _BOOT else None))
