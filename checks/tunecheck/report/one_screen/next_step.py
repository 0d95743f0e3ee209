"""The one next step of a report, and the findings that it follows from. The screen shows the first of these whatever it
leaves out, so that nobody has to believe a command without its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...model.finding import Finding
from ...rules.context import Case
from ...rules.wedged import stuck_in_driver
from ...util.text import some
from ..grouping import worst_first
from ..not_given import kept, that_tell_most
from ..sorts import Sorts
from ..text_parts import Again

__all__ = ["NOTHING", "Step", "next_step"]

#: What lists all GPUs.
_LISTS = "nvidia-smi -q"
#: Where a new text goes, with those that were given: a report of the new one alone would lose what they tell.
_BOX = "box/"
#: A fix that is longer is not said again as the next step.
_LONG = 100
#: How many checks are named that need a reboot.
_NAMED = 3


class Step(NamedTuple):
    """``text``: the line; ``commands``: those in it; ``why``: the findings that it follows from; ``left_out``: the line
    where the screen left out the fix of the first of these, as a page is about every box, and that fix for this one."""

    text: str
    commands: Sequence[str]
    why: Sequence[Finding]
    left_out: str = ""


NOTHING = Step("", (), ())


def next_step(verb: str, case: Case, findings: Sequence[Finding], sorts: Sorts, as_root: Again, imported: bool) -> Step:
    """Return the one next step. Running as root comes first, as what cannot be read cannot be judged; then what fails;
    then a whole text of the PCI devices; then the worst warning; of texts that hold no fault, what would tell more."""
    topology = case.snapshot.topology
    others = bool(topology.others)
    if stuck := stuck_in_driver(list(findings)):
        explain = f"tunecheck explain {stuck.id}"
        return Step(f"next: reboot the host ({explain})", (explain,), (stuck,))
    if sorts.rootless:
        return Step(f"next: {as_root.next}", (as_root.command,), sorts.rootless)
    wrong = [finding for finding in worst_first(findings) if finding.outcome in ("fail", "warn")]
    # Where other makers' accelerators are what this machine has, the whole list would tell no more.
    if sorts.part and not (others and not topology.devices) \
            and not any(finding.outcome == "fail" for finding in wrong):
        ask, judge = "sudo lspci -nnvvv > lspci.txt", f"tunecheck {verb} --from {_BOX}"
        return Step(f"next: on the box: {ask}; put it into a folder {_BOX} with these texts, in place of the list that "
                    f"is not whole; then: {judge}", (ask, judge), sorts.part)
    if wrong:
        fixed = [finding for finding in wrong if finding.remedy is not None and finding.remedy.needs_reboot]
        reboot = f"; 1 reboot is needed for {len(fixed)} of {len(wrong)} fails and warnings" if fixed else ""
        # Of all of them it need not be said which; nor do more names than these fit.
        checks = list(dict.fromkeys(finding.id for finding in fixed)) if len(fixed) < len(wrong) else []
        reboot += f": {some(checks, _NAMED)}" if checks else ""
        # Of what is equally grave, that which somebody can mend.
        lead = next((each for each in wrong if each.outcome == wrong[0].outcome and each.remedy), wrong[0])
        explain = f"tunecheck explain {lead.id}"
        return Step(f"next: {explain}{reboot}", (explain,), (lead,),
                    f"next: -v has the fix for this box, {explain} says why{reboot}")
    return _of_texts(verb, case, sorts) if imported and not others else NOTHING


def _of_texts(verb: str, case: Case, sorts: Sorts) -> Step:
    """Return the next step where texts show no fault: what a finding asks to measure or to take anew, else the output
    that tells most."""
    judge = f"tunecheck {verb} --from {_BOX}"
    if sorts.gpus:
        ask, _ = kept(_LISTS)
        return Step(f"next: on the box: {ask}; put it into a folder {_BOX} with these texts, in place of the one that "
                    f"is cut; then: {judge}", (ask, judge), sorts.gpus)
    for finding in sorts.here:
        fix = finding.remedy
        if finding.outcome != "unknown" or not fix or fix.as_root or not fix.commands:
            continue
        short = len(fix.text) <= _LONG
        if short or len(fix.commands) == 1:
            step = fix.text if short else f"on the box: {fix.commands[0].shown}"
            return Step(f"next: {step} ({finding.id} says why)", [each.shown for each in fix.commands], (finding,))
    add, why = that_tell_most(case, sorts.here + sorts.missing)
    if not add:
        return NOTHING
    ask, files = kept(add)
    return Step(f"next: on the box: {ask}; put {files} into a folder {_BOX} with these texts; then: {judge}",
                (ask, judge), why)
