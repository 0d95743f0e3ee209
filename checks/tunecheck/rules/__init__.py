"""Judge only: pure functions from facts and desired state to findings, one small file per check."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ..model.finding import HUNG, ON_ITS_HOST, Finding, Place, Remedy, exit_code, worst
from .check import TRIALS, Check
from .context import Case
from .evidence_guard import limited
from .index import CHECKS
from .wedged import in_one_order

__all__ = ["CHECKS", "HUNG", "Case", "Check", "Finding", "Remedy", "exit_code", "get_ready", "judge", "worst"]


def judge(case: Case, verb: str) -> list[Finding]:
    """Return every finding of a verb ("topo", "host", "preflight", ...), in the order of a report."""
    both = verb == "trial" or (verb == "preflight" and case.measured is not None)
    found: list[Finding] = []
    for check in _chosen(verb, both, case.trial, case.snapshot.posted.anything):
        found += limited(case, check.judge(case))
    return [_for_guest(case, finding) if finding.remedy else finding for finding in in_one_order(found)]


def get_ready(verb: str) -> None:
    """Import the checks of a verb in advance. The caller does this while it waits for a host's slow answers."""
    for check in _chosen(verb, False, False, False):
        check.load()


@cache
def _chosen(verb: str, measured: bool, trial: bool, posts: bool) -> tuple[Check, ...]:
    """Return the checks of a verb. Without ``posts`` (texts that only an import holds) the checks of such texts are
    left out and not even imported."""
    verbs = {verb, *(TRIALS if measured else ())}
    return tuple(check for check in CHECKS if verbs & set(check.verbs) and (check.in_trial or not trial)
                 and (posts or not check.of_posts))


def _for_guest(case: Case, finding: Finding) -> Finding:
    """Return the finding with a remedy that names who can act. In a virtual machine nobody can reseat a board or change
    the BIOS, so such a remedy is for its hypervisor."""
    remedy = finding.remedy
    if remedy is None or not remedy.physical or not case.guest:
        return finding
    return replace(finding, remedy=replace(remedy, text=ON_ITS_HOST + remedy.text, needs_reboot=False,
                                           place=Place.HYPERVISOR))
