"""The JSON document of an audit: tunecheck/fleet/1. Its JSON Schema is in schema.py; a test holds the two together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunecheck import __version__
from tunecheck.model.command import pieces
from tunecheck.report.plain import commands

from ..entries import Entry, entries
from ..fixes import Step
from ..fleet_report import Cause, Decision, FleetReport, HostRow
from ..judge.verdict import outcome
from ..model import AuditHead, Problem
from .counts import by_kind, of_hosts, verdict_line
from .text import KINDS, STATUSES, counted_as, since_of

__all__ = ["audit_of", "document", "entry_of"]


def document(report: FleetReport) -> dict[str, Any]:
    """The whole report as plain data. Times are seconds since 1970 by the control node's clock. ``counts`` of a cause
    says whether it is drift: not resolved, not waived, not standing, not merely what our own roles did, and not
    ``unjudged``, which is a kind of its own. The summary counts entries, as the last line does."""
    found, counts = entries(report.causes), of_hosts(report)
    kinds = by_kind(found)
    return {
        "schema": "tunecheck/fleet/1", "tunecheck": __version__, "audit": audit_of(report.audit),
        "previous": audit_of(report.previous) if report.previous else None, "baseline": report.baseline,
        "fact": report.fact, "over_audits": report.over_audits,
        "summary": {
            "verdict": verdict_line(report), "asked": max(report.audit.asked, len(report.hosts)),
            "answered": report.answered, "drift": sum(entry.lead.drifts for entry in found),
            "unjudged": sum(entry.lead.counts and entry.lead.unjudged for entry in found),
            "outcome": outcome(report),
            "hosts": {status: report.count(status) for status in STATUSES},     # type: ignore[arg-type]
            "causes": {word: kinds[word] for word in KINDS},
        },
        "causes": [_cause(each) for each in report.causes],
        "entries": [{"id": entry.lead.id, "kind": counted_as(entry.lead), "what": entry.what, "group": entry.lead.group,
                     "groups": list(entry.lead.groups), "fact": entry.lead.fact,
                     "severity": entry.lead.severity, "hosts": list(entry.lead.hosts),
                     "news": list(entry.lead.new_hosts), "since": since_of(entry.lead.since),
                     "more": [each.fact for each in entry.more]}
                    for entry in found],
        "splits": [{"group": each.group, "fact": each.fact, "note": each.note,
                    "shares": [{"value": value, "hosts": count, "names": list(names)}
                               for value, count, names in each.parts]}
                   for each in report.splits],
        "hosts": [_host(each, counts.get(each.host, {})) for each in report.hosts],
        "timeline": [{"audit": number, "at": at, "changes": changes, "answered": answered}
                     for number, at, changes, answered in report.timeline],
        "judged": [{"group": group, "fact": fact} for group, fact in report.judged],
        "notes": list(report.notes),
    }


def audit_of(audit: AuditHead) -> dict[str, Any]:
    return {"id": audit.id, "started": audit.started, "finished": audit.finished, "scope": audit.scope,
            "asked": audit.asked, "trigger": audit.trigger, "note": audit.note, "tunecheck": audit.tunecheck,
            "catalogue": audit.catalogue, "rebaselined": audit.rebaselined}


def entry_of(entry: Entry) -> dict[str, Any]:
    """The cause that leads, with the names of what else the same thing moved."""
    return {**_cause(entry.lead), "what": entry.what, "more": [each.fact for each in entry.more]}


def _decision(decision: Decision | None) -> dict[str, Any] | None:
    return None if decision is None else {
        "id": decision.id, "audit": decision.audit, "author": decision.author, "owner": decision.owner,
        "link": decision.link, "note": decision.note, "at": decision.created}


def _cause(cause: Cause) -> dict[str, Any]:
    waived = cause.waived
    return {
        "id": cause.id, "kind": counted_as(cause),
        "authority": cause.authority, "severity": cause.severity, "state": cause.state, "counts": cause.drifts,
        "group": cause.group, "groups": list(cause.groups), "group_of": dict(cause.group_of),
        "fact": cause.fact, "subject": cause.subject, "outcome": cause.outcome,
        "code": cause.code, "was": cause.was, "absence": cause.absence, "source": cause.source,
        "before": cause.before, "value": cause.value, "expected": cause.expected, "text": cause.text,
        "hosts": list(cause.hosts),
        "since": since_of(cause.since),
        "waves": [{"state": wave.state, "since": since_of(wave.since), "hosts": list(wave.hosts)}
                  for wave in cause.all_waves],
        "fix": cause.fix, "remedy": cause.remedy, "commands": _shown(cause),
        "fixes": [{"hosts": list(fix.hosts), "steps": [{"remedy": step.remedy, "commands": _shown(step)}
                                                       for step in fix.steps]} for fix in cause.fixes],
        "befores": [{"value": each.value, "whose": each.whose, "hosts": list(each.hosts)} for each in cause.befores],
        "began": cause.began, "intended": cause.intended, "standing": cause.standing, "rollout": cause.rollout,
        "flapping": list(cause.flapping),
        "waived": None if waived is None else {"id": waived.id, "until": waived.until, "author": waived.author,
                                               "reason": waived.reason},
        "approved": _decision(cause.approved), "acknowledged": _decision(cause.acknowledged),
        "covered": list(cause.covered), "asked": list(cause.asked),
        "asked_by": list(cause.asked_by), "untold": list(cause.untold),
        "ended": [{"host": host, "since": since_of(since)} for host, since in sorted(cause.ended.items())],
        "last_heard": [{"audit": each.audit, "at": each.at, "hosts": list(each.hosts)} for each in cause.last_heard],
    }


def _host(row: HostRow, counts: Mapping[str, int]) -> dict[str, Any]:
    """``drifted`` entries, and beside them ``unjudged`` ones."""
    return {
        "host": row.host, "group": row.group, "hardware": row.hardware, "status": row.status, "reason": row.reason,
        "outcomes": dict(row.outcomes), "drifted": row.drifted, "unjudged": counts.get("unjudged", 0),
        "unknown": dict(row.unknown),
        "problems": [_problem(each) for each in row.problems], "last_ok": row.last_ok, "last_ok_at": row.last_ok_at,
        "in_change": row.in_change, "waits": row.waits, "specified": row.specified, "skipped": dict(row.skipped),
        "dark": {check: {"text": why, "remedy": remedy} for check, (why, remedy) in row.dark.items()},
        "called_now": row.called_now, "left": row.left,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"check": problem.check, "subject": problem.subject, "outcome": problem.outcome,
            "code": problem.code, "absence": problem.absence or None, "source": problem.source or None,
            "text": problem.text, "observed": problem.observed,
            "expected": problem.expected, "remedy": problem.remedy,
            "commands": _shown(problem), "tags": list(problem.tags), "needs_reboot": problem.needs_reboot,
            "puts": list(problem.puts), "takes": list(problem.takes), "place": problem.place or None}


def _shown(finding: Cause | Problem | Step) -> list[dict[str, Any]]:
    """The commands that its remedy still holds whole."""
    return commands(each for _, each in pieces(finding.remedy, finding.commands) if each)
