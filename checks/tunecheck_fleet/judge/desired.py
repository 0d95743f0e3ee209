"""Against the desired state: what the rules of the box itself say, over all hosts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from tunecheck.model.finding import Place
from tunecheck.rules.codes import NOT_DECLARED

from ..model import Problem, Thing, fault_of, subject_key
from .authority import judged, judges_one
from .found.problems import cannot_be_told, told_as
from .moves import Net
from .not_judged import is_good, meaning
from .rows import INSTEAD, OVER, Row, plain, widest
from .since_when import came_with, is_standing, open_before, read_since, state, things_as_before
from .view import View
from .view_rows import Host, Move, Resolved
from .why_over import by_specification, why_over, without_its_gpu

__all__ = ["desired", "same_of"]

#: What the check says on the host is what the fleet says. A fact's own severity counts where no check judges it.
_SEVERITY: dict[str, Literal["low", "medium", "high"]] = {"fail": "high", "warn": "medium", "unknown": "low"}
#: So many values of one check in one group, and the numbers in them are no longer told apart (a temperature each).
_WORDINGS = 8
#: What a fix takes, by where it is carried out.
_BY_PLACE = {Place.FIRMWARE.value: "firmware", Place.MACHINE.value: "hands-on"}
_CUT = re.compile(r" and [0-9]+ more$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Desired(NamedTuple):
    """``settled``: which (host, fact) the rows have judged; a standing warning has judged nothing: of its facts the
    others may still speak. ``checks``: every (group, check) that there is anything of. ``unjudged``: (host, check) that
    found something before and has no say any more, with the code that says why. ``unsaid``: (host, fact) that changed
    while a check was open that judges it, so that no finding is news: with that check."""

    rows: list[Row]
    settled: set[tuple[str, str]]
    checks: set[tuple[str, str]]
    unjudged: dict[tuple[str, str], str]
    unsaid: dict[tuple[str, str], str]


def desired(view: View, moves: Net, about: str | None = None) -> Desired:
    """``about``: no rows but those that a cause with this host could have."""
    moved = moves.moves
    rows: list[Row] = []
    unjudged: dict[tuple[str, str], str] = {}
    checks: set[tuple[str, str]] = set()
    wanted = _checks_of(view, about) if about is not None else None
    settled: set[tuple[str, str]] = set()
    # Where all are silent there is nothing to count, and what changed earlier is open all the same.
    names = sorted(view.names | {tally.fact for tally in view.tallies} | {
        fact for facts in moved.values() for fact in facts} | {move.fact for move in view.unapproved})
    hosts = {host.host: host for host in view.hosts}
    earlier = {(move.host, move.fact): move for move in view.unapproved}
    open_steps: dict[str, dict[str, Move]] = defaultdict(dict)
    for move in (*(move for facts in moved.values() for move in facts.values()), *view.unapproved):
        if view.approval(move.host, move.fact, move.value, move.since) is None:
            open_steps[move.host][move.fact] = move
    stirred: dict[str, set[str]] = defaultdict(set)     # also what changed and came back
    steps: dict[tuple[str, int], dict[str, Move]] = defaultdict(dict)
    for move in view.moves:
        stirred[move.host].add(move.fact)
        steps[move.host, move.since.seen][move.fact] = move
    unsaid: dict[tuple[str, str], str] = {}
    said: set[tuple[str, str]] = set()
    known: dict[tuple[str, str], list[str]] = {}

    def facts(problem: Problem) -> list[str]:
        key = problem.check, problem.subject
        if key not in known:
            known[key] = list(judged(problem.check, problem.subject, names))
        return known[key]

    for host in view.hosts:
        for problem in host.problems if host.told else ():
            judges = facts(problem)
            checks.add((host.group, problem.check))
            for things, before in _each_found(view, host, problem) or [
                    (things_as_before(view, host, problem, moved.get(host.host, {})), None)]:
                standing = is_standing(view, host, problem, things) and not came_with(
                    view, host, problem.check, judges, things, open_steps.get(host.host, {}))
                if not standing:
                    # What changed before, and the check did not find, is as it was where the check cannot tell now.
                    blind = problem.outcome == "unknown" and not _was(view, host, problem)
                    settled.update((host.host, fact) for fact in judges
                                   if not blind or (host.host, fact) not in earlier)
                for fact in judges:
                    change = moved.get(host.host, {}).get(fact) or earlier.get((host.host, fact))
                    if change is not None and open_before(view, host, things, change):
                        unsaid.setdefault((host.host, fact), problem.check)
                    elif change is not None:
                        said.add((host.host, fact))
                if wanted is None or problem.check in wanted:
                    # Of several facts the one that changed is not the one that cannot be told.
                    moving = judges if problem.outcome != "unknown" or judges_one(
                        problem.check, problem.subject) else []
                    taken = (moved.get(host.host, {}).get(fact) or earlier.get((host.host, fact)) for fact in moving)
                    changed = [step for step in taken if step is not None and (
                        problem.outcome != "unknown" or read_since(view, host, things, step))]
                    row = _row(view, host, problem, things, judges, changed, state(view, host, things), standing,
                               before)
                    rows.append(_came(row, changed))
    for over in view.resolved:
        there = hosts.get(over.host)
        if there is None or not there.told or _not_over(there, over):
            continue
        # Nor has one that tells as little of it as before it said so.
        if over.outcome == "unknown" and over.check in there.dark:
            continue
        # The end of a list that was cut short is no subject.
        problem = Problem(over.check, _CUT.sub("", over.subject), over.outcome, "",
                          code=over.told.code if over.told is not None else over.code)
        judges = facts(problem)
        gone = without_its_gpu(problem, there, moved.get(over.host, {}))
        allowed = over.respecified and by_specification(view, problem, judges, stirred[over.host])
        lost = over.unspecified and not gone and allowed
        code = NOT_DECLARED if lost or over.check in there.unasked else there.skipped.get(over.check, "")
        if code and not is_good(over.check, code):
            unjudged[over.host, over.check] = code
            continue
        last = steps.get((over.host, over.ended.seen), {}) if over.ended is not None else {}
        # What is what it was before, too, ended the finding with its last step.
        changes = {**{fact: step for fact, step in last.items() if moves.back.get((over.host, fact)) == step},
                   **moved.get(over.host, {})}
        why = gone or why_over(problem, judges, changes, allowed)
        if why == OVER and any(each.check == over.check and subject_key(over.subject) in each.keys
                               for each in there.problems):
            why = INSTEAD
        if why == OVER and code:
            why = meaning(over.check, code)
        checks.add((there.group, over.check))
        ended = {(over.host, fact) for fact in judges if fact in changes}
        settled |= ended
        said |= ended
        if wanted is None or over.check in wanted:
            moving = judges if over.outcome != "unknown" or judges_one(problem.check, problem.subject) else []
            # The values as they were while it was open: by these it is in the entry that it was in.
            was = [replace(step, before=step.value, value=step.before) for fact in moving
                   if (step := last.get(fact) or changes.get(fact)) is not None]
            row = _row(view, there, problem, problem.things, judges, was, "resolved", False)._replace(
                since=over.since, ended=over.ended, text=why)
            # It is over under the id under which it was open.
            rows.append(row if over.told is None else row._replace(same=same_of(over.told)))
    return Desired(_folded(rows), settled, checks, unjudged,
                   {each: check for each, check in unsaid.items() if each not in said})


def _checks_of(view: View, name: str) -> set[str]:
    """The checks of all that the host has, or had."""
    return {check for host in view.hosts if host.host == name
            for check in (*(problem.check for problem in host.problems),
                          *(over.check for over in view.resolved if over.host == name))}


def _not_over(there: Host, over: Resolved) -> bool:
    """Whether the check still finds it, or does not know any more: then it has not resolved anything. Where it finds
    another thing of the subject it has looked at that."""
    key = subject_key(over.subject)
    own = [problem for problem in there.problems if problem.check == over.check]
    here = [problem for problem in own if key in problem.keys]
    if over.outcome == "unknown" or any(problem.outcome == "unknown" or over.code in (problem.found, "")
                                        for problem in here):
        return bool(here) or any(problem.outcome == "unknown" for problem in own)
    return not here and any(problem.outcome == "unknown" for problem in own)


def _row(view: View, host: Host, problem: Problem, things: list[Thing], about: list[str], changed: list[Move],
         state: Literal["new", "known", "resolved"], standing: bool, before: Problem | None = None) -> Row:
    """``before``: how that was told the last time which cannot be told now; None: it is told, or that is not kept."""
    metas = [view.of(fact) for fact in about]
    # A check's own advice knows whether it needs a boot, and where it is carried out.
    own = _BY_PLACE.get(problem.place)
    fixes = [own] if own else [meta.fix for meta in metas if meta.fix != "none" and not (
        meta.fix == "reboot" and problem.remedy) and not (problem.place and meta.fix in _BY_PLACE.values())]
    # What is not known needs an output, or a right to read; what its value would need is not known either.
    fix = "reboot" if problem.needs_reboot else "none" if problem.outcome == "unknown" else \
        fixes[0] if fixes else "reload" if problem.tags else "none"
    one = changed[0] if len(changed) == 1 else None
    since = widest(view.since(host.host, thing) for thing in things) or (one.since if one else None)
    severity = _SEVERITY[problem.outcome]
    if problem.outcome == "unknown" and since is not None and since.after is not None:
        severity = "medium"     # it was known once: something stopped answering
    was = before.outcome if before is not None else _was(view, host, problem) if problem.outcome == "unknown" else ""
    if was:
        severity = _SEVERITY[was]       # it may still be so: without its evidence nothing is less bad
    # What only an older answer told says so itself.
    text = cannot_be_told(problem.text, was) if was and problem.observed not in ("fail", "warn") else problem.text
    return Row(
        "desired", severity, problem.check, host.group, host.host,
        expected=_expected(problem.expected), fix=fix,
        value=one.value if one else None, before=one.before if one else None, since=since, state=state,
        standing=standing,
        about=about[0] if len(about) == 1 else "", subject=problem.subject if before is None else before.subject,
        text=text, remedy=problem.remedy,
        commands=problem.commands, outcome=problem.outcome, was=was, absence=problem.absence,
        source=problem.source,
        # What it is called and what follows goes by what was found.
        code=problem.code if before is None else before.code,
        same=same_of(problem), named=_told(before) if before is not None else ())


def _was(view: View, host: Host, problem: Problem) -> str:
    """What the check found before of that which it cannot tell now: fail, warn, or "". Of another subject, too, where
    nothing is said of that one in its place."""
    found = _untold(view, host, problem)
    own = {outcome for (_, key, _), outcome in found.items() if key in problem.keys} or set(found.values())
    return min(own, default=problem.observed if problem.observed in ("fail", "warn") else "")


def _untold(view: View, host: Host, problem: Problem) -> dict[Thing, str]:
    """What the check found before, where it does not know now -> fail or warn: of the problem's own subjects, and of
    those of which nothing is said in its place."""
    found = view.found.get(host.host, {}).get(problem.check, {})
    others = [other for other in host.problems if other.check == problem.check] if found else []
    said = {each for other in others if other.outcome != "unknown"
            for thing in other.things for each in told_as(*thing)}
    named = {key for other in others if other.outcome == "unknown" for key in other.keys}.difference(problem.keys)
    return {thing: outcome for thing, outcome in found.items() if thing not in said and thing[1] not in named}


def _each_found(view: View, host: Host, problem: Problem) -> list[tuple[list[Thing], Problem | None]]:
    """What was found before and cannot be told now, each thing by itself: what the view has it under, and how it was
    told the last time (None: that is not kept). It is so since then. Of what no problem of the check names the first
    one tells, that cannot be told."""
    untold = _untold(view, host, problem) if problem.outcome == "unknown" else {}
    if not untold:
        return []
    names: dict[tuple[str, ...], tuple[list[Thing], Problem | None]] = {}
    own = [thing for key in problem.keys for thing in untold if thing[1] == key]
    first = next((other for other in host.problems if (other.check, other.outcome) == (problem.check, "unknown")), None)
    rest = sorted(untold.keys() - own) if not own or first is problem else []
    for thing in own + rest:
        told = view.words.get((host.host, *thing))
        name = () if told is None else _told(told)
        names.setdefault(name, ([], told))[0].append(thing)
    return list(names.values())


def _came(row: Row, moves: list[Move]) -> Row:
    """The row, since its fact changed: what the check could not tell before, a value did that came in that audit."""
    known = [move.since for move in moves if row.since is not None and row.since.after is None
             and move.since.seen == row.since.seen and move.since.after is not None]
    return row._replace(since=widest(known)) if known else row


def _told(problem: Problem) -> tuple[str, str, str]:
    """As in Row.named."""
    return problem.outcome, fault_of(problem.check, problem.code), same_of(problem)


def same_of(problem: Problem) -> str:
    """Row.same of what a check found."""
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
    kinds: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row.fact, row.outcome, row.fault][row.same] += 1
    return [row._replace(same=_NUMBER.sub("#", row.same))
            if len(kinds[row.fact, row.outcome, row.fault]) > _WORDINGS else row for row in rows]
