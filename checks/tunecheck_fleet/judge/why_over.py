"""Why a check finds something no more: a fact changed, its GPU is gone, or the specification is another one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..events.gpu_moves import COUNTED, grew, missing_places
from ..model import Problem
from .asked import CHECKING, took_back
from .authority import HAPPENING, looked_at
from .rows import OVER
from .view import View
from .view_rows import Host, Move

__all__ = ["by_specification", "why_over", "without_its_gpu"]

#: Characters of a value in a sentence.
_VALUE = 60
#: A subject that names GPUs, or PCI devices.
_DEVICE = re.compile(r"\bGPU\d+\b|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?\b")


def by_specification(view: View, problem: Problem, judges: list[str], stirred: set[str]) -> bool:
    """Whether nothing but the specification, which is another one, can have ended a finding."""
    same_version = view.previous is not None and view.previous.tunecheck == view.audit.tunecheck
    return (same_version and bool(judges) and problem.check not in HAPPENING and stirred.isdisjoint(judges)
            and not looked_at(problem.check, stirred))


def without_its_gpu(problem: Problem, there: Host, moved: Mapping[str, Move]) -> str:
    """What is so where a host has fewer GPUs than before, and what is over was said of one: nothing was mended."""
    if not _DEVICE.search(problem.subject) or not any(
            fact in moved and grew(moved[fact].value, moved[fact].before) for fact in COUNTED):
        return ""
    if missing_places(there.problems).issuperset(problem.subject.split(", ")):
        return "its GPU is gone: nothing was mended"
    return "there are fewer GPUs now, and its GPU may be the one that is gone"


def why_over(problem: Problem, judges: list[str], moved: Mapping[str, Move], allowed: bool) -> str:
    """What is so where a check finds something no more: the fact that changed, where it is one, first of those that the
    check judges. ``allowed``: none of these did, in between either, and the specification is another one."""
    if problem.outcome == "unknown":
        return "this can be judged now"
    if allowed:
        return "the specification most likely allows this now: no fact that the check judges has changed"
    changed = [moved[fact] for fact in judges if fact in moved] or [
        moved[fact] for fact in looked_at(problem.check, sorted(moved))
        if problem.check not in CHECKING or took_back(problem.subject, moved[fact])]
    if len(changed) != 1:
        return OVER
    value = changed[0].value
    # A word; what is counted per GPU, or has a unit, is for the reports to show.
    plainly = "absent" if value is None else value if isinstance(value, str) and len(value) <= _VALUE else ""
    return f"{changed[0].fact} is {plainly} now" if plainly else f"{changed[0].fact} has changed, and {OVER}"
