"""Judge only: pure functions from facts and desired state to findings, one small file per check."""

from __future__ import annotations

from dataclasses import replace

from ..model.finding import HUNG, ON_ITS_HOST, Finding, Place, Remedy, exit_code, worst
from .check import TRIALS, Check
from .context import Case
from .evidence_guard import limited
from .index import CHECKS

__all__ = ["CHECKS", "HUNG", "Case", "Check", "Finding", "Remedy", "exit_code", "judge", "worst"]


def judge(case: Case, verb: str) -> list[Finding]:
    """Every finding of a verb ("topo", "host", "preflight", ...), in the order of a report."""
    both = verb == "trial" or (verb == "preflight" and case.measured is not None)
    verbs = {verb, *(TRIALS if both else ())}
    posts = case.snapshot.posted.anything       # where there are none, the checks of them are not even imported
    chosen = [check for check in CHECKS if verbs & set(check.verbs) and (check.in_trial or not case.trial)
              and (posts or not check.of_posts)]
    return [_for_guest(case, finding) for check in chosen for finding in limited(case, check.judge(case))]


def _for_guest(case: Case, finding: Finding) -> Finding:
    """In a virtual machine nobody can reseat a board or change the BIOS: the remedy names who can."""
    remedy = finding.remedy
    if remedy is None or not remedy.physical or not case.guest:
        return finding
    return replace(finding, remedy=replace(remedy, text=ON_ITS_HOST + remedy.text, needs_reboot=False,
                                           place=Place.HYPERVISOR))
