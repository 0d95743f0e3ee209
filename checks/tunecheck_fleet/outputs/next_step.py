"""The one command to type next, for who reads a fleet's report and does not know where to begin."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from tunecheck.util.host_names import fold

from ..entries import Entry, gpus_of, happened, whole
from ..events.first import before, first_of
from ..fleet_report import Cause, FleetReport
from ..judge.rows import RANK
from ..own_command import just_typed, own_command
from .entry_words import approving, fix, what_asks
from .fix_words import placed
from .reach_first import reach_first, silent
from .text import OPEN, kind

__all__ = ["next_step"]

#: Characters of host names in the step.
_FIT = 60


def next_step(findings: Sequence[Entry], report: FleetReport, verbose: bool,
              tight: bool = False) -> tuple[str, list[str]]:
    """One step, for who does not know where to begin: how to reach who is silent; then the worst of what is new, else
    of what is open; and the commands in it. ``tight``: where there are hosts to reach, no more than that."""
    if report.baseline != "previous":
        return "", []
    step, commands = _step(findings, report, verbose, tight)
    # Who has just typed it has read all that it says.
    return ("", []) if any(map(just_typed, commands)) else (step, commands)


def _step(findings: Sequence[Entry], report: FleetReport, verbose: bool, tight: bool) -> tuple[str, list[str]]:
    reach, how = reach_first(report)
    if tight and reach:
        return reach, how
    # Nothing can be read, or mended, on a host that nobody reaches.
    mute = silent(report)
    heard = [replace(each, lead=each.lead.on(set(each.lead.hosts) - mute)) if mute & set(each.lead.hosts) else each
             for each in findings if not set(each.lead.hosts) <= mute]
    step, commands = _of_findings(heard, report, verbose)
    return "; then: ".join(part for part in (reach, step) if part), [*how, *commands]


def _of_findings(findings: Sequence[Entry], report: FleetReport, verbose: bool) -> tuple[str, list[str]]:
    """The step about what was found. Where all that is known of the only host stands here, what is to be done about
    it."""
    mute = silent(report)
    for word in OPEN[:3]:
        there = [each for each in findings if kind(each.lead) == word and each.lead.id and each.part_of is None
                 and not (each.mended and _failing(each, mute) is None)]
        if not there:
            continue
        entry = min(there, key=lambda each: _weight(each.lead))
        first = _whole(first_of(_to_mend(entry, mute), _heard(report)), findings, report)
        host = _worst(first.new_hosts or first.hosts, report)
        control = any(each.where == "control" for each in first.commands)
        if first.authority == "desired" and first.remedy and (control or before(first)):
            # What is done on the box says on which; a play does, and so does a fix that is not the same for all.
            where = "" if len(first.fixes) > 1 or (control and not before(first)) else \
                f"on {fold(first.hosts, _FIT)}: "
            where = where if placed(first) == first.remedy else ""
            return f"{first.id} ({first.fact}): {where}{fix(first)}", [each.shown for each in first.commands]
        command = own_command("drift --host {host} -v", host=host)
        told = verbose and len(report.hosts) == 1
        gpus = gpus_of(entry)
        if gpus is not None and gpus.fewer > 0 and (told or (word == "known" and first.authority != "desired")):
            return _gpu_lost(entry)
        if told and first.authority in ("desired", "identity"):
            about = f"tunecheck explain {shlex.quote(first.fact)}"
            return f"{first.id} ({first.fact}): {fix(first) or about}", [
                *(each.shown for each in first.commands), about]
        if first.authority in ("desired", "identity") or (word != "known" and not told):
            return command, [command]
        command = own_command("approve {id} --note WHY", id=first.id)
        return f"where {first.id} ({first.fact}) is as you want it: {command}", [command]
    right = next((each for each in findings if each.mended and kind(each.lead) in OPEN[:3]), None)
    if right is None:
        # A part of an entry that is not shown: what is to be done about that is told where all of it is.
        part = next((each for each in findings if each.part_of is not None and kind(each.lead) in OPEN[:3]), None)
        if part is None:
            return _of_unread(report) if not verbose else ("", [])
        command = own_command("drift --host {host} -v", host=_worst(part.lead.hosts, report))
        return command, [command]
    command = approving(right)
    return f"{right.lead.id} ({right.lead.fact}) is {what_asks(right.lead)}: {command}", [command]


def _to_mend(entry: Entry, mute: set[str]) -> Cause:
    """What leads the entry; of values that changed, and with which a check fails, that check: to approve the values
    does not end it. A GPU that is lost is looked for, whichever check misses it."""
    gpus = gpus_of(entry)
    if entry.lead.authority in ("desired", "identity") or (gpus is not None and gpus.fewer > 0):
        return entry.lead
    return _failing(entry, mute) or entry.lead


def _failing(entry: Entry, mute: set[str]) -> Cause | None:
    """The worst check that fails below what leads, or failed when it could be told last, on a host that answered."""
    found = [each.on(set(each.hosts) - mute) for each in entry.more if each.counts and each.id
             and each.authority == "desired" and "fail" in (each.outcome, each.was) and not set(each.hosts) <= mute]
    return min(found, key=_weight, default=None)


def _of_unread(report: FleetReport) -> tuple[str, list[str]]:
    """Nothing is open, and something could not be read."""
    host = next((row.host for row in report.hosts if row.status == "partial"), None)
    if host is None:
        return "", []
    command = own_command("drift --host {host} -v", host=host)
    return f"what could not be read, and why: {command}", [command]


def _heard(report: FleetReport) -> tuple[Cause, ...]:
    """The causes of the hosts that answered."""
    mute = silent(report)
    return tuple(each.on(set(each.hosts) - mute) if mute & set(each.hosts) else each
                 for each in report.causes if not set(each.hosts) <= mute) if mute else report.causes


def _whole(first: Cause, findings: Sequence[Entry], report: FleetReport) -> Cause:
    """The same with its whole fix: as it leads its entry, or where it leads none on some of its hosts, with what its
    check finds besides."""
    return next((each.lead for each in findings if each.part_of is None and each.lead.id == first.id
                 and each.lead.hosts == first.hosts), None) or whole(
        first, [each for each in _heard(report) if each.fact == first.fact and each is not first])


def _gpu_lost(entry: Entry) -> tuple[str, list[str]]:
    """Nobody approves that: look for the GPU, or say that somebody is at it."""
    from tunecheck.rules.gpu.accelerator_count import LOST

    cause = entry.lead
    remedy, commands = (cause.remedy, cause.commands) if cause.remedy else (LOST.text, LOST.commands)
    acknowledge = own_command("acknowledge {id} --owner NAME", id=cause.id)
    return (f"{cause.id} ({happened(entry)}): {remedy}; where somebody is at work on it: {acknowledge}",
            [*(each.shown for each in commands), acknowledge])


def _worst(hosts: Sequence[str], report: FleetReport) -> str:
    """Of these hosts the one with the worst causes."""
    weights: dict[str, list[tuple[int, bool]]] = {name: [] for name in hosts}
    for each in report.open:
        for name in weights.keys() & each.hosts:
            weights[name].append(_weight(each))
    return min(hosts, key=lambda name: [*sorted(weights[name]), _NOTHING])


#: Ends the list of a host's causes: of two hosts with the same worst causes, the one with more of them comes first.
_NOTHING = (len(RANK), True)


def _weight(cause: Cause) -> tuple[int, bool]:
    """The order of causes, the worst first: by severity, then a failure before a warning."""
    return RANK[cause.severity], cause.outcome == "warn"
