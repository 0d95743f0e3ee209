"""cmdline-conflict: nothing else on the command line takes back what was declared.

Which of two words the kernel obeys is in parsers/kernel/param_conflicts.py: not of every parameter it is the last one."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.kernel.param_conflicts import conflicts
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "cmdline-conflict", "nothing on the command line takes a declared parameter back",
    Heading.BOOT, 50, Family.BOOT, judges=("kernel.cmdline.{subject}",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
        return
    declared = declared_tokens(case.spec)
    if not declared:
        yield Finding(_ID, "kernel command line", "skip", "declared", "the spec declares no kernel parameter"
                      if case.frozen else "no spec given: nothing is declared that something could contradict")
        return
    yield from list(_contradictions(declared, running.value, running.source)) or [
        Finding(_ID, "kernel command line", "pass", "effective", "nothing on the command line contradicts the declared "
                "parameters", evidence=(running.source,))]


def _contradictions(declared: tuple[str, ...], running: tuple[str, ...], source: str) -> Iterator[Finding]:
    for found in conflicts(declared, running):
        text = "takes back" if found.wins else "stands beside"
        more = "" if found.wins else ", which the kernel obeys"
        yield Finding(_ID, found.declared, "fail" if found.wins else "warn", "effective",
                      f"{found.rival} {text} the declared {found.declared} on the running command line{more} "
                      f"({found.why})", found.rival, f"{found.declared} alone", (source,),
                      Remedy(f"remove {found.rival} from the boot configuration that sets it (look in "
                             "/etc/default/grub and /etc/default/grub.d)", ("cmdline",), True))
