"""Against the desired state: what the rules of the box itself say, over all hosts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from tunecheck.rules.codes import NOT_DECLARED

from ..events.gpu_moves import COUNTED, grew, missing_places
from ..model import Problem, subject_key
from .authority import HAPPENING, judged, judges_one
from .rows import OVER, Row, cannot_be_told, plain, widest
from .view import Host, Move, View

__all__ = ["desired"]

#: What the check says on the host is what the fleet says. A fact's own severity counts where no check judges it.
_SEVERITY: dict[str, Literal["low", "medium", "high"]] = {"fail": "high", "warn": "medium", "unknown": "low"}
#: So many values of one check in one group, and the numbers in them are no longer told apart (a temperature each).
_WORDINGS = 8
_CUT = re.compile(r" and [0-9]+ more$")
#: Characters of a value in a sentence.
_VALUE = 60
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: A subject that names GPUs, or PCI devices.
_DEVICE = re.compile(r"\bGPU\d+\b|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?\b")
#: Check, subject.
_Keys = list[tuple[str, str]]


class Desired(NamedTuple):
    """``settled``: which (host, fact) the rows have judged; a standing warning has judged nothing: of its facts the
    others may still speak. ``checks``: every (group, check) that there is anything of. ``unjudged``: (host, check) that
    found something before and has no say any more, with the code that says why."""

    rows: list[Row]
    settled: set[tuple[str, str]]
    checks: set[tuple[str, str]]
    unjudged: dict[tuple[str, str], str]


def desired(view: View, moved: Mapping[str, Mapping[str, Move]],
            about: str | None = None) -> Desired:
    """``moved``: host -> fact -> what changed of it. ``about``: no rows but those that a cause with this host could
    have."""
    rows: list[Row] = []
    unjudged: dict[tuple[str, str], str] = {}
    checks: set[tuple[str, str]] = set()
    wanted = _checks_of(view, about) if about is not None else None
    settled: set[tuple[str, str]] = set()
    names = sorted(view.names | {tally.fact for tally in view.tallies} | {
        fact for facts in moved.values() for fact in facts})
    hosts = {host.host: host for host in view.hosts}
    earlier = {(move.host, move.fact): move for move in view.unapproved}
    stirred: dict[str, set[str]] = defaultdict(set)     # also what changed and came back
    for move in view.moves:
        stirred[move.host].add(move.fact)
    known: dict[tuple[str, str], list[str]] = {}

    def facts(problem: Problem) -> list[str]:
        key = problem.check, problem.subject
        if key not in known:
            known[key] = list(judged(problem.check, problem.subject, names))
        return known[key]

    for host in view.hosts:
        for problem in host.problems if host.told else ():
            judges, keys = facts(problem), _keys_as_before(view, host, problem, moved.get(host.host, {}))
            checks.add((host.group, problem.check))
            standing = _is_standing(view, host, problem, keys)
            if not standing:
                # What changed before, and the check did not find, is as it was where the check cannot tell now.
                blind = problem.outcome == "unknown" and not _was(view, host, problem)
                settled.update((host.host, fact) for fact in judges if not blind or (host.host, fact) not in earlier)
            if wanted is None or (host.group, problem.check) in wanted:
                # Of several facts the one that changed is not the one that cannot be told.
                moving = judges if problem.outcome != "unknown" or judges_one(problem.check, problem.subject) else []
                changed = [moved[host.host][fact] for fact in moving if fact in moved.get(host.host, {})]
                row = _row(view, host, problem, keys, judges, changed, _state(view, host, keys), standing)
                rows.append(_came(row, [*changed, *(earlier[host.host, fact] for fact in moving
                                                    if (host.host, fact) in earlier)]))
    for over in view.resolved:
        there = hosts.get(over.host)
        # A check that does not know any more has not resolved anything.
        if there is None or not there.told or any(
                problem.check == over.check and (
                    subject_key(over.subject) in problem.keys or problem.outcome == "unknown")
                for problem in there.problems):
            continue
        # The end of a list that was cut short is no subject.
        problem = Problem(over.check, _CUT.sub("", over.subject), over.outcome, "",
                          code=over.told.code if over.told is not None else "")
        judges = facts(problem)
        gone = _without_its_gpu(problem, there, moved.get(over.host, {}))
        lost = over.unspecified and not gone and _by_specification(view, problem, judges, stirred[over.host])
        if code := NOT_DECLARED if lost or over.check in there.unasked else there.skipped.get(over.check, ""):
            unjudged[over.host, over.check] = code
            continue
        why = gone or _why_over(view, problem, judges, moved.get(over.host, {}), stirred[over.host])
        checks.add((there.group, over.check))
        settled.update((over.host, fact) for fact in judges if fact in moved.get(over.host, {}))
        if wanted is None or (there.group, over.check) in wanted:
            row = _row(view, there, problem, _keys(problem), judges, [], "resolved", False)._replace(
                since=over.since, text=why)
            # It is over under the id under which it was open.
            rows.append(row if over.told is None else row._replace(same=_same_of(over.told)))
    return Desired(_folded(rows), settled, checks, unjudged)


def _by_specification(view: View, problem: Problem, judges: list[str], stirred: set[str]) -> bool:
    """Whether nothing but the specification can have ended a finding: what the host was judged by earlier is not
    kept."""
    same_version = view.previous is not None and view.previous.tunecheck == view.audit.tunecheck
    return same_version and bool(judges) and problem.check not in HAPPENING and stirred.isdisjoint(judges)


def _without_its_gpu(problem: Problem, there: Host, moved: Mapping[str, Move]) -> str:
    """What is so where a host has fewer GPUs than before, and what is over was said of one: nothing was mended."""
    if not _DEVICE.search(problem.subject) or not any(
            fact in moved and grew(moved[fact].value, moved[fact].before) for fact in COUNTED):
        return ""
    if missing_places(there.problems).issuperset(problem.subject.split(", ")):
        return "its GPU is gone: nothing was mended"
    return "there are fewer GPUs now, and its GPU may be the one that is gone"


def _why_over(view: View, problem: Problem, judges: list[str], moved: Mapping[str, Move], stirred: set[str]) -> str:
    """What is so where a check finds something no more: the fact that changed, where it is one. Where none of the facts
    that it judges changed (``stirred``: in between, too), most likely the specification did: what the box was judged by
    earlier is not kept. Another version of tunecheck judges otherwise."""
    if problem.outcome == "unknown":
        return "this can be judged now"
    if _by_specification(view, problem, judges, stirred):
        return "the specification most likely allows this now: no fact that the check judges has changed"
    changed = [moved[fact] for fact in judges if fact in moved]
    if len(changed) != 1:
        return OVER
    value = changed[0].value
    # A word; what is counted per GPU, or has a unit, is for the reports to show.
    plainly = "absent" if value is None else value if isinstance(value, str) and len(value) <= _VALUE else ""
    return f"{changed[0].fact} is {plainly} now" if plainly else f"{changed[0].fact} has changed, and {OVER}"


def _checks_of(view: View, name: str) -> set[tuple[str, str]]:
    """(group, check) of all that the host has, or had."""
    return {(host.group, check) for host in view.hosts if host.host == name
            for check in (*(problem.check for problem in host.problems),
                          *(over.check for over in view.resolved if over.host == name))}


def _is_standing(view: View, host: Host, problem: Problem, keys: _Keys) -> bool:
    """A warning that stands, also where it cannot be told now whether it is still so: nothing happened by that."""
    return problem.outcome in ("warn", "unknown") and view.standing.get(host.host, frozenset()).issuperset(keys)


def _state(view: View, host: Host, keys: _Keys) -> Literal["new", "known"]:
    """New where it is so of any of its subjects."""
    began = view.began.get(host.host, {})
    return "known" if all(view.had(host.host, began.get(key)) for key in keys) else "new"


def _keys(problem: Problem) -> _Keys:
    """What the view has it under: one for each of its subjects."""
    return [(problem.check, key) for key in problem.keys]


def _keys_as_before(view: View, host: Host, problem: Problem, moved: Mapping[str, Move]) -> _Keys:
    """The same; of what is not known of a GPU that came, those of what was not known of the others in the same way: it
    is no news that one more cannot be told."""
    keys = _keys(problem)
    if problem.outcome != "unknown" or _state(view, host, keys) == "known" or not any(
            fact in moved and grew(moved[fact].before, moved[fact].value) for fact in COUNTED):
        return keys
    return next((found for other in host.problems if (other.check, other.code, other.outcome) == (
        problem.check, problem.code, "unknown") and _state(view, host, found := _keys(other)) == "known"), keys)


def _row(view: View, host: Host, problem: Problem, keys: _Keys, about: list[str], changed: list[Move],
         state: Literal["new", "known", "resolved"], standing: bool) -> Row:
    metas = [view.of(fact) for fact in about]
    # A check's own advice knows whether it needs a boot.
    fixes = [meta.fix for meta in metas if meta.fix != "none" and not (meta.fix == "reboot" and problem.remedy)]
    # What is not known needs an output, or a right to read; what its value would need is not known either.
    fix = "reboot" if problem.needs_reboot else "none" if problem.outcome == "unknown" else \
        fixes[0] if fixes else "reload" if problem.tags else "none"
    one = changed[0] if len(changed) == 1 else None
    began = view.began.get(host.host, {})
    since = widest(began.get(key) for key in keys) or (one.since if one else None)
    severity = _SEVERITY[problem.outcome]
    if problem.outcome == "unknown" and since is not None and since.after is not None:
        severity = "medium"     # it was known once: something stopped answering
    was = _was(view, host, problem) if problem.outcome == "unknown" else ""
    if was:
        severity = _SEVERITY[was]       # it may still be so: without its evidence nothing is less bad
    before = _told_before(view, host, problem) if was else None
    return Row(
        "desired", severity, problem.check, host.group, host.host,
        expected=_expected(problem.expected), fix=fix,
        value=one.value if one else None, before=one.before if one else None, since=since, state=state,
        standing=standing,
        about=about[0] if len(about) == 1 else "", subject=problem.subject,
        text=cannot_be_told(problem.text, was) if was else problem.text, remedy=problem.remedy,
        commands=problem.commands, outcome=problem.outcome, code=problem.code, was=was,
        absence=problem.absence,
        same=_same_of(problem), named=(before.outcome, before.code, _same_of(before)) if before is not None else ())


def _was(view: View, host: Host, problem: Problem) -> str:
    """What the check found before of that which it cannot tell now: fail, warn, or "". Of another subject, too, where
    nothing is said of that one in its place."""
    found = view.found.get(host.host, {}).get(problem.check, {})
    said = {key for other in host.problems if other.check == problem.check for key in other.keys} if found else set()
    own = {found[key] for key in problem.keys if key in found} or {
        outcome for key, outcome in found.items() if key not in said}
    return min(own, default=problem.observed if problem.observed in ("fail", "warn") else "")


def _told_before(view: View, host: Host, problem: Problem) -> Problem | None:
    """How that was told the last time which cannot be told now; None: that is not kept."""
    found = view.found.get(host.host, {}).get(problem.check, {})
    keys = sorted([key for key in problem.keys if key in found] or found, key=lambda key: (found[key], key))
    return next((told for key in keys if (told := view.words.get((host.host, problem.check, key))) is not None), None)


def _came(row: Row, moves: list[Move]) -> Row:
    """The row, since its fact changed: what the check could not tell before, a value did that came in that audit."""
    known = [move.since for move in moves if row.since is not None and row.since.after is None
             and move.since.seen == row.since.seen and move.since.after is not None]
    return row._replace(since=widest(known)) if known else row


def _same_of(problem: Problem) -> str:
    return _same((problem.subject, problem.observed), problem.absence) if problem.code else \
        _same((problem.subject, problem.text))


# Thousands of hosts have the same ones: each text is there once.
@lru_cache(4096)
def _expected(text: str) -> str:
    return f"desired {text}" if text else "desired state"


@lru_cache(4096)
def _same(texts: tuple[str, ...], *more: str) -> str:
    """What makes findings one, without what differs from box to box."""
    return "\0".join((*map(plain, texts), *more))


def _folded(rows: list[Row]) -> list[Row]:
    """A check that finds another number on every box is still one cause."""
    kinds: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row.group, row.fact, row.outcome, row.code][row.same] += 1
    return [row._replace(same=_NUMBER.sub("#", row.same))
            if len(kinds[row.group, row.fact, row.outcome, row.code]) > _WORDINGS else row for row in rows]
