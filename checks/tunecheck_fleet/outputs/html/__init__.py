"""The fleet in one file for the browser: it opens offline and asks the network for nothing.

What hosts say is data: the template escapes it, the script writes it as text only, and the policy in the page's head
lets run exactly the one script and the one style sheet that are in it. The page is bounded: what goes beyond is counted
in it and is whole in --json.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from tunecheck import __version__
from tunecheck.model.command import Command, pieces
from tunecheck.report import html as report_html
from tunecheck.report.html.shell import policy
from tunecheck.report.style import safe
from tunecheck.util.host_names import fold, natural

from ...entries import Entry, entries, gpus_of, happened
from ...fleet_report import Cause, FleetReport, HostRow
from ...model import Problem
from ...value_words import measured
from .. import text as words
from ..counts import drifted, kinds_of_hosts, unjudged, verdict_line, verdict_word
from ..entry_words import approving, expected, fix, lead, needs, over, says, severity, silence, title
from ..text import (
    SEVERITIES,
    STATUSES,
    change,
    clock,
    counted_as,
    in_words,
    interval,
    kind,
    lasts,
    shown,
    titled,
)
from .timeline import timeline

__all__ = ["html"]

_HERE = Path(__file__).resolve().parent
_BASE = Path(report_html.__path__[0])
#: Bounds of the page. Characters: of one text, and of all findings together.
_CAUSES, _FAMILIES, _PROBLEMS, _UNKNOWN, _LONGEST, _BUDGET = 500, 40, 100, 100, 400, 4_000_000
#: Causes that stand above the fold; the others are behind one click, or the filter.
_FIRST = 15
#: Outcome -> its letter in the page's data.
_LETTERS = {"pass": "p", "fail": "f", "warn": "w", "skip": "s", "unknown": "u"}


@cache
def _environment() -> jinja2.Environment:
    """Return what compiles the template. It keeps it: to compile one takes longer than to fill it in."""
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
                              loader=jinja2.FileSystemLoader(_HERE), finalize=_visible)


def html(report: FleetReport) -> str:
    """The whole page."""
    style = (_BASE / "page.css").read_text(encoding="utf-8") + (_HERE / "fleet.css").read_text(encoding="utf-8")
    script = (_HERE / "fleet.js").read_text(encoding="utf-8") + (_BASE / "common.js").read_text(encoding="utf-8")
    hosts = sorted(report.hosts, key=lambda row: (natural(row.host), row.group))
    families = sorted({family for row in hosts for family in row.outcomes})[:_FAMILIES]
    causes = [cause for cause in report.causes if cause.counts]
    rest = [cause for cause in report.causes if not cause.counts]
    listed = [*causes, *rest][:_CAUSES]
    shown = _entries(listed)
    counted = sum(each["cause"].counts for each in shown)
    leads = [entry.lead for entry in entries(report.causes)]
    drift = [lead for lead in leads if lead.drifts]
    blind, uncounted = sum(lead.counts and lead.unjudged for lead in leads), [
        lead for lead in leads if not lead.counts]
    word = verdict_word(report)
    text = _environment().get_template("fleet.html.j2").render(
        report=report, version=__version__, policy=policy(style, script), style=style, script=script,
        word=word, compared=words.compared(report),
        outcome={"DRIFT": "fail", "UNKNOWN": "unknown"}.get(word, "warn" if _gaps(report) else "pass"),
        says=verdict_line(report).partition(": ")[2], coverage=words.coverage(report), clock=clock, shown=words.shown,
        fold=fold,
        severities=[(each, sum(cause.severity == each for cause in drift)) for each in SEVERITIES],
        open_causes=shown[:counted], first=_FIRST, rest=shown[counted:], counted=len(drift), unjudged=blind,
        uncounted=len(uncounted),
        not_drift=[(word, number) for word in words.NOT_DRIFT
                   if (number := sum(kind(cause) == word for cause in uncounted))],
        left_out=len(leads) - len(shown), incomplete=_incomplete(hosts),
        families=families, by_group=_by_group(report, families), timeline=timeline(report.timeline),
        page=_Data(hosts, families, shown, kinds_of_hosts(report)).plain())
    return text + "\n"


def _visible(value: Any) -> Any:
    """What would turn the text around it (right-to-left overrides) is shown as an escape."""
    return safe(value) if type(value) is str else value


def _gaps(report: FleetReport) -> bool:
    return any(row.status != "ok" or row.unknown for row in report.hosts) or len(report.hosts) < report.audit.asked


def _entries(listed: Sequence[Cause]) -> list[dict[str, Any]]:
    """The entries, in order; what one thing that happened says once more in another fact stands within its entry."""
    places = itertools.count()
    return [_cause(next(places), each, [_cause(next(places), Entry(other, part_of=each)) for other in each.more])
            for each in entries(listed)]


def _cause(index: int, entry: Entry, others: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """What the template shows of a cause."""
    cause = entry.lead
    remarks = (silence(cause) + ["rollout"] * cause.rollout + ["by our own roles"] * cause.intended
               + ([f"flapping on {fold(cause.flapping, 80)}"] if cause.flapping else []))
    decision = cause.acknowledged or cause.approved
    return {"index": index, "cause": cause, "kind": kind(cause), "severity": severity(cause).lower(),
            "change": _cut(change(cause)), "remarks": remarks,
            "title": title(entry), "says": _cut(says(entry)), "lead": _cut(lead(entry)), "others": others,
            # What happened to GPUs is the title.
            "what": "" if gpus_of(entry) is not None else happened(entry), "decision": decision,
            "not_of": _not_of(cause),
            "decided_at": "" if decision is None else clock(decision.created),
            "over": over(cause, True),
            "waves": [(interval(wave.since), wave.state, fold(wave.hosts, 2000)) for wave in cause.all_waves],
            "short": _short(cause), "names": fold(cause.hosts, 4000),
            "against": _against(cause), "takes": _takes(entry), "lasts": lasts(cause.waived) if cause.waived else "",
            "fix": [(part, _place(command) if command else "")
                    for part, command in pieces(fix(cause), cause.commands)]}


def _against(cause: Cause) -> tuple[str, str]:
    """What the cause is held against, under its name: only what somebody asks for is expected. Of a change that is what
    was there before; ("", "") where nothing is said."""
    if cause.authority == "previous":
        own = [each.whose for each in cause.all_befores] == ["own"] and not in_words(cause)
        return ("Value before", _cut(shown(measured(cause.fact, cause.before)))) if own else ("", "")
    if cause.authority == "majority":
        return "Comparison", cause.expected
    if cause.authority == "identity" and cause.expected == "one host":
        return "Expected", f"{cause.expected} alone"
    return ("Expected", said) if (said := expected(cause)) else ("", "")


def _not_of(cause: Cause) -> str:
    """The hosts of which nobody said that he is at work, where somebody did of others."""
    return fold(sorted(set(cause.hosts) - set(cause.covered), key=natural), 400) if cause.acknowledged else ""


def _takes(entry: Entry) -> str:
    """What the fix takes, before its words; where nothing was read there is nothing to take, and what is missing is the
    fix."""
    cause = entry.lead
    if takes := needs(entry):
        return "; ".join(part for part in (takes, approving(entry)) if part)
    if cause.outcome == "unknown":
        return "" if cause.remedy else "what is missing stands above"
    if cause.authority in ("previous", "majority", "reference"):
        from tunecheck.facts.registry import entry_of  # start-up time: it names every fact of a box

        # Of a change that nobody has to put back there is nothing to say.
        known = entry_of(cause.fact)
        return "takes effect at once" if cause.counts and (known is None or known.fix == cause.fix) else ""
    return "" if cause.remedy else "see the page of the check"


def _place(command: Command) -> str:
    """Where it can be pasted; "" where a name has to be filled in first."""
    if command.fill_in:
        return ""
    return "on the control node" if command.where == "control" else "on the box, as root" if command.as_root else \
        "on the box"


def _short(cause: Cause) -> str:
    """Since which audit, for the line."""
    if cause.since is None:
        return ""
    return f"#{cause.since.after}..#{cause.since.seen}" if cause.since.after else f"before #{cause.since.seen}"


def _incomplete(hosts: Sequence[HostRow]) -> list[dict[str, Any]]:
    return [{"status": status, "count": len(rows), "names": fold((row.host for row in rows), 2000),
             "reason": _cut(reason), "last": sorted({row.last_ok for row in rows if row.last_ok is not None})}
            for status, reason, rows in words.gaps(hosts)[:100]]


def _by_group(report: FleetReport, families: Sequence[str]) -> list[dict[str, Any]]:
    """Per group: hosts, how many answered, how many drifted, on how many something could not be judged; per family how
    many fail, else how many are unknown."""
    result = []
    struck, blind = drifted(report), unjudged(report)
    for group in words.groups(report)[:200]:
        rows = [row for row in report.hosts if row.group == group]
        cells = []
        for family in families:
            counts = {outcome: sum(row.outcomes.get(family) == outcome for row in rows) for outcome in _LETTERS}
            worst = next((outcome for outcome in ("fail", "unknown", "warn", "pass") if counts[outcome]), "")
            cells.append((worst, counts[worst] if worst else 0))
        result.append({"group": group, "hosts": len(rows), "cells": cells,
                       "answered": sum(row.status in ("ok", "partial") for row in rows),
                       "drifted": sum(row.host in struck for row in rows),
                       "unjudged": sum(row.host in blind for row in rows)})
    return result


def _cut(text: str) -> str:
    text = safe(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST - 3]}..."


#: What each host's counts are of, in the page's data: drift, what could not be judged, and what is no drift.
_COUNTED = ("drift", words.UNJUDGED, *words.NOT_DRIFT)


class _Data:
    """What the script gets: every text once, by its place in ``texts``; findings that many hosts share once, too.
    ``counts``: host -> as in kinds_of_hosts; the page may not hold every cause that they count."""

    def __init__(self, hosts: Sequence[HostRow], families: Sequence[str], shown: Sequence[dict[str, Any]],
                 counts: Mapping[str, Mapping[str, int]]) -> None:
        self._hosts, self._families, self._shown, self._counts = hosts, families, shown, counts
        self._texts: dict[str, int] = {"": 0}
        self._problems: dict[tuple[Any, ...], int] = {}
        self._spent = 0

    def plain(self) -> dict[str, Any]:
        hosts = [self._host(row) for row in self._hosts]
        place = {row.host: index for index, row in reversed(list(enumerate(self._hosts)))}
        causes = [self._cause(part["cause"], each["index"], each is part, place)
                  for each in self._shown for part in (each, *each["others"])]
        return {"families": list(self._families), "kinds": list(_COUNTED), "hosts": hosts, "causes": causes,
                "problems": list(self._problems), "texts": list(self._texts)}

    def _cause(self, cause: Cause, lead: int, leads: bool, place: Mapping[str, int]) -> list[Any]:
        """[title, change, kind, severity, hosts, what it counts as: -1 for what an entry brought, the place of its
        entry]."""
        word = "drift" if cause.drifts else counted_as(cause)
        return [self._text(titled(cause)), self._text(change(cause)), kind(cause), severity(cause).lower(),
                [place.get(host, _cut(host)) for host in cause.hosts], _COUNTED.index(word) if leads else -1, lead]

    def _text(self, text: str) -> int:
        return self._texts.setdefault(_cut(text), len(self._texts))

    def _host(self, row: HostRow) -> list[Any]:
        """[name, group, hardware, status, reason, letters of the outcomes, counts as _COUNTED, last answered, in
        change, findings, unknown facts, how many findings and facts are left out]."""
        letters = "".join(_LETTERS.get(row.outcomes[family], "u") if family in row.outcomes else "-"
                          for family in self._families)
        problems = [found for problem in row.problems[:_PROBLEMS] if (found := self._problem(problem)) is not None]
        unknown = [[self._text(fact), self._text(why)] for fact, why in list(row.unknown.items())[:_UNKNOWN]
                   if self._room(fact, why)]
        last = f"#{row.last_ok}, {clock(row.last_ok_at)}" if row.last_ok is not None else ""
        return [_cut(row.host), self._text(row.group), self._text(row.hardware), STATUSES.index(row.status),
                self._text(row.reason), letters, self._counted(row.host), self._text(last), int(row.in_change),
                problems, unknown, len(row.problems) - len(problems) + len(row.unknown) - len(unknown)]

    def _counted(self, host: str) -> list[int]:
        counts = self._counts.get(host, {})
        return [counts.get(word, 0) for word in _COUNTED]

    def _room(self, *texts: str) -> bool:
        self._spent += sum(min(len(text), _LONGEST) for text in texts if _cut(text) not in self._texts)
        return self._spent <= _BUDGET

    def _problem(self, problem: Problem) -> int | None:
        """Its place among all findings; None where the page has no room for more."""
        texts = (problem.check, problem.subject, problem.text, problem.expected, problem.remedy, " ".join(problem.tags))
        if not self._room(*texts):
            return None
        fix = tuple((self._text(part), _place(command) if command and _cut(part) == part else "")
                    for part, command in pieces(problem.remedy, problem.commands))
        key = (*(self._text(text) for text in texts[:4]), fix, self._text(texts[5]), problem.outcome,
               int(problem.needs_reboot))
        return self._problems.setdefault(key, len(self._problems))
