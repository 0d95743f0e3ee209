"""smt: simultaneous multithreading is as declared. Where nothing is declared, the finding only reports it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case
from ..remedies import boot_remedies

CHECK = Check(
    "smt", "SMT is as declared", Heading.SYSTEM, 40, Family.CPU, judges=("cpu.smt",),
)
CODES = {
    "differs": "SMT is in another state than the specification declares.",
}
_ID = CHECK.id
#: The kernel's words of /sys/devices/system/cpu/smt/control that are no English.
_WORDS = {"forceoff": "forced off", "notsupported": "not supported (by the CPUs, or switched off in the BIOS)",
          "notimplemented": "not implemented in this kernel"}


def judge(case: Case) -> Iterator[Finding]:
    fact, wanted = case.host.platform.smt, case.spec.cpu.smt
    state = "off" if fact.missing or fact.value in ("off", "forceoff", "notsupported", "notimplemented") else fact.value
    shown = f"SMT is {_WORDS.get(fact.value, fact.value) if fact.value else 'unknown to this kernel'}"
    if wanted is None:
        asked = "the spec asks for no SMT state" if case.frozen else "no spec given"
        yield Finding(_ID, NOT_DECLARED, "CPUs", "skip", "declared",
                      f"{asked}; {shown if state else f'found none: {fact.why()}'}", absence=fact.absence)
    elif state is None:
        yield Finding(_ID, UNREAD, "CPUs", "unknown", "effective", f"the SMT state cannot be read: {fact.why()}", "?",
                      wanted, absence=fact.absence)
    else:
        good = state == wanted
        code, outcome = ("ok", "pass") if good else ("differs", "fail")
        yield Finding(_ID, code, "CPUs", outcome, "effective", shown, fact.value or "", wanted,
                      (fact.source,), None if good else _fix(case, wanted))


def _fix(case: Case, wanted: str) -> Remedy:
    """Return how the CPUs boot with SMT, or without it."""
    if wanted == "off":
        return boot_remedies.without_effect(case, "nosmt", '"SMT"') or Remedy("boot with nosmt", (), True)
    running = case.host.kernel.cmdline.value
    held = [word for word in running or () if word in ("nosmt", "nosmt=force") or _by_mitigations(word)]
    if held or running is None:
        return Remedy(f"boot without {' '.join(held) or 'nosmt'}, and enable SMT in the BIOS", (), True, Place.FIRMWARE)
    return Remedy("enable SMT in the BIOS; where it is on there, look for what writes off to "
                  "/sys/devices/system/cpu/smt/control", (), True, Place.FIRMWARE)


def _by_mitigations(word: str) -> bool:
    return word.startswith("mitigations=") and "nosmt" in word.partition("=")[2].split(",")
