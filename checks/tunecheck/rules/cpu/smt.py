"""smt: simultaneous multithreading is as declared. Where nothing is declared, the finding only reports it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case

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
        command = "boot without nosmt, and enable SMT in the BIOS" if wanted == "on" else "boot with nosmt"
        code, outcome = ("ok", "pass") if good else ("differs", "fail")
        yield Finding(_ID, code, "CPUs", outcome, "effective", shown, fact.value or "", wanted,
                      (fact.source,), None if good else Remedy(
                          command, (), True, Place.FIRMWARE if wanted == "on" else Place.BOX))
