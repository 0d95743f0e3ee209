"""What the checks of a host tell in an audit, also of what was found before and cannot be told now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from tunecheck.model.finding import Remedy

from ...model import AuditHead, Problem, Thing, subject_key
from ...store.sanitize import plain

if TYPE_CHECKING:
    from ...store.rows import HostState, OpenFinding, ProblemSince

    Open = OpenFinding | ProblemSince

__all__ = ["NOT_NOW", "cannot_be_told", "key_of", "outcome_of", "problems_of", "told_as"]

NOT_NOW = "cannot be told now: "
#: Of a check that told nothing, not even why; and where its own page has no other way.
_NOTHING_TOLD = "the last snapshot of this host holds nothing of it"
_LOOK = Remedy.typed("look at it on the box: `sudo tunecheck preflight -v`; where the box is audited by files, make "
                     "its snapshot there: `sudo tunecheck snapshot --json HOST.json`")


def cannot_be_told(why: str, was: str) -> str:
    """What is said of a finding whose evidence is gone. ``was``: the outcome when it last could be told."""
    if why.startswith(NOT_NOW):
        return why
    return f"{NOT_NOW}{why}" + (f"; it was {was} when it last could" if was != "unknown" else "")


def outcome_of(text: str) -> Literal["fail", "warn", "unknown"]:
    return "fail" if text == "fail" else "warn" if text == "warn" else "unknown"


def problems_of(state: HostState, audit: AuditHead, open_rows: Iterable[Open]) -> tuple[Problem, ...]:
    """The problems of the host in this audit. Of an audit that an older version wrote, the store knows that a check
    failed, and not with which text."""
    if state.newest is None or state.newest <= audit.id or state.kept:
        return (*state.problems, *_untold(state, open_rows))
    newest = {(*thing, str(problem.outcome)): problem for problem in state.problems for thing in problem.things}
    # A finding on two of them is one problem.
    return tuple(dict.fromkeys(
        newest.get((*key_of(row), row.outcome),
                   Problem(row.check, row.subject, outcome_of(row.outcome), "its words of then are not kept",
                           code=row.code))
        for row in open_rows))


def _untold(state: HostState, open_rows: Iterable[Open]) -> Iterator[Problem]:
    """What was found before, and of which the newest answer tells nothing: it may still be so. It says why, and what
    to do."""
    problems = state.problems
    said = {each for problem in problems for key in problem.keys for each in told_as(
        plain(problem.check, 200), plain(key, 500), plain(problem.found, 200))}
    dark = {plain(problem.check, 200) for problem in problems if problem.outcome == "unknown"}
    for row in open_rows:
        # An audit of another inventory that asked for none of it was no end of it, and has not told it either.
        if state.kept and row.check not in state.untold:
            continue
        if key_of(row) not in said and row.check not in dark:
            from tunecheck.rules.codes import UNREAD  # start-up time: it loads what the rules judge

            why, fix = state.dark.get(row.check, ("", ""))
            yield Problem(row.check, row.subject, "unknown", cannot_be_told(why or _NOTHING_TOLD, row.outcome),
                          code=UNREAD, observed=row.outcome, remedy=fix or _LOOK.text,
                          commands=() if fix else _LOOK.commands)


def told_as(check: str, key: str, found: str) -> tuple[Thing, Thing]:
    """The things that are told with what is found of a subject: also what a version of before kept without a code."""
    return (check, key, found), (check, key, "")


def key_of(row: Open) -> Thing:
    return row.check, subject_key(row.subject), row.code


