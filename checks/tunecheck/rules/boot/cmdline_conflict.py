"""cmdline-conflict: nothing else on the command line takes back what was declared.

parsers/kernel/param_conflicts.py knows which of two words the kernel obeys: not for every parameter is it the last
one."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.kernel.param_conflicts import conflicts
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case
from ..remedies import boot_remedies
from ..remedies.acs_remedies import before_the_play, line_fix

CHECK = Check(
    "cmdline-conflict", "nothing on the command line takes a declared parameter back",
    Heading.BOOT, 50, Family.BOOT, judges=("kernel.cmdline.{subject}",),
    # The role kernel_cmdline writes nothing while another's word contradicts what is declared.
    before=("cmdline-token",), against=("kernel.cmdline.*",),
)
CODES = {
    "overridden": "Another word on the running command line takes a declared parameter back.",
    "contradicted": "Another word on the running command line contradicts a declared parameter, and the kernel obeys "
                    "the declared one.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield Finding(_ID, UNREAD, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
        return
    declared = declared_tokens(case.spec)
    if not declared:
        yield Finding(_ID, NOT_DECLARED, "kernel command line", "skip", "declared",
                      "the spec declares no kernel parameter" if case.frozen else "no spec given: nothing is declared "
                      "that something could contradict")
        return
    found = conflicts(declared, running.value)
    # Of every finding the whole fix: a word that is left would take another reboot.
    remedy = _without(case) if found else None
    for conflict in found:
        code, outcome, verb, more = (("overridden", "fail", "takes back", "") if conflict.wins else
                                     ("contradicted", "warn", "stands beside", ", which the kernel obeys"))
        yield Finding(_ID, code, conflict.declared, outcome, "effective",
                      f"{conflict.rival} {verb} the declared {conflict.declared} on the running command line{more}: "
                      f"{conflict.why}", conflict.rival, f"{conflict.declared} alone", (running.source,), remedy)
    if not found:
        yield Finding(_ID, "ok", "kernel command line", "pass", "effective", "nothing on the command line contradicts "
                      "the declared parameters", evidence=(running.source,))


def _without(case: Case) -> Remedy:
    """Return how all these words get off the command line with one reboot. Where the role has parameters to set, which
    it refuses to do while the words are there, it reboots the box for both: that is the fix of cmdline-token."""
    if boot_remedies.lacking(case):
        return line_fix(case).by_play
    return Remedy.of(*before_the_play(case), ", then reboot", ansible_tags=("cmdline",), needs_reboot=True)
