"""An audit as a textfile for node_exporter's collector on the control node. docs/metrics.md says what each
metric means.

What is counted are entries, as in the report: one for one thing that happened, however many facts it moved. No value is
ever a label: each new value would be a new series. A host that did not answer has no sample of its own,
but of what is open on it: that stands as it was last heard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tunecheck.report.prometheus import exposition

from ..entries import entries
from ..fleet_report import FleetReport
from .counts import by_kind, of_hosts
from .text import KINDS, SEVERITIES, STATUSES, UNJUDGED, groups

__all__ = ["METRICS", "prometheus"]

_Sample = tuple[dict[str, str], float]

#: Name -> help; all of them gauges.
METRICS = {
    "tunecheck_audit_timestamp_seconds": "When the last audit began, in seconds since 1970.",
    "tunecheck_audit_duration_seconds": "How long the last audit took; no sample where it was not finished.",
    "tunecheck_audit_hosts_asked": "Hosts that the inventory of the last audit named.",
    "tunecheck_hosts": "Hosts of the last audit by how they answered.",
    "tunecheck_causes": "Causes of the last audit by state; new, grown, known and acknowledged ones are drift.",
    "tunecheck_drift": "Causes that count as drift; one on hosts of several groups counts in each of these.",
    "tunecheck_unjudged": "Causes that could not be judged; they are no drift.",
    "tunecheck_drift_hosts": "Hosts with at least one cause that counts as drift.",
    "tunecheck_host_drift": "Causes that count as drift on one host.",
    "tunecheck_host_unjudged": "Causes on one host that could not be judged.",
    "tunecheck_host_unheard": "1 for a host that did not answer the last audit.",
    "tunecheck_host_finding": "1 for a finding that counts as drift on a host; one series per thing that happened.",
    "tunecheck_host_finding_since_seconds": "When an audit saw it first on that host, in seconds since 1970.",
    "tunecheck_findings_left_out": "Findings on hosts that have no series of their own.",
    "tunecheck_splits": "Facts on which a group does not agree.",
    "tunecheck_changed_values": "Values that changed since the audit before.",
}

#: More hosts than this have no series of their own; those with drift come first.
_MOST_HOSTS = 5000
#: More findings on hosts than this have none; news and what is severe come first, and how many are left out is told.
_MOST_FINDINGS = 20_000


def prometheus(report: FleetReport) -> str:
    """The text exposition format."""
    found_here = entries(report.causes)
    states, of_host, named = by_kind(found_here), of_hosts(report), groups(report)
    drift: Counter[tuple[str, str]] = Counter()
    struck: dict[tuple[str, str], set[str]] = {}
    for entry in found_here:
        if entry.lead.drifts:
            for group in entry.lead.groups:
                drift[where := (group, entry.lead.severity)] += 1
                struck.setdefault(where, set()).update(
                    host for cause in (entry.lead, *entry.more) for host in cause.of_group(group))
    unread = Counter(group for entry in found_here if entry.lead.counts and entry.lead.unjudged
                     for group in entry.lead.groups)
    drifted = dict.fromkeys(host for entry in found_here if entry.lead.drifts for host in entry.lead.hosts)
    answered = [*drifted, *(row.host for row in report.hosts if row.status in ("ok", "partial")
                         and row.host not in drifted)][:_MOST_HOSTS]
    audit = report.audit
    took: list[_Sample] = [] if audit.finished is None else [({}, round(audit.finished - audit.started, 3))]
    splits = Counter(split.group for split in report.splits)
    changed: list[_Sample] = [({}, changes) for number, _, changes, _ in report.timeline[-1:] if number == audit.id]
    found = sorted(_findings(report), key=lambda each: (each[0]["state"] != "new", each[0]["severity"] != "high"))
    listed = found[:_MOST_FINDINGS]
    return exposition({
        "tunecheck_audit_timestamp_seconds": [({}, round(audit.started, 3))],
        "tunecheck_audit_duration_seconds": took,
        "tunecheck_audit_hosts_asked": [({}, audit.asked)],
        "tunecheck_hosts": [({"status": status}, report.count(status)) for status in STATUSES],  # type: ignore[arg-type]
        "tunecheck_causes": [({"state": state}, states[state])
                             for state in KINDS],
        "tunecheck_drift": [({"group": group, "severity": severity}, drift[group, severity])
                            for group in named for severity in SEVERITIES],
        "tunecheck_drift_hosts": [({"group": group, "severity": severity}, len(struck.get((group, severity), ())))
                                  for group in named for severity in SEVERITIES],
        "tunecheck_unjudged": [({"group": group}, unread[group]) for group in named],
        "tunecheck_host_drift": [({"host": host, "severity": severity}, of_host.get(host, {}).get(severity, 0))
                                 for host in answered for severity in SEVERITIES],
        "tunecheck_host_unjudged": [({"host": host}, of_host.get(host, {}).get(UNJUDGED, 0))
                                    for host in answered],
        "tunecheck_host_unheard": [({"host": row.host, "group": row.group, "status": row.status}, 1)
                                   for row in report.hosts if row.status not in ("ok", "partial")],
        "tunecheck_host_finding": [(labels, 1) for labels, _ in listed],
        "tunecheck_host_finding_since_seconds": [
            ({name: labels[name] for name in ("host", "check", "fact", "id")}, round(at, 3)) for labels, at in listed
            if at is not None],
        "tunecheck_findings_left_out": [({}, len(found) - len(listed))],
        "tunecheck_splits": [({"group": group}, splits[group]) for group in named],
        "tunecheck_changed_values": changed,
    }, METRICS)


def _findings(report: FleetReport) -> Iterator[tuple[dict[str, str], float | None]]:
    """(labels, since when) of every entry that is drift, on every host that has it; never its value. ``what`` is one of
    the few words for what happened (events/folds.py), without how many GPUs, which may be others tomorrow."""
    for entry in entries(report.causes):
        lead = entry.lead
        if not lead.drifts:
            continue
        for wave in lead.all_waves:
            for host in wave.hosts:
                state = "new" if wave.state == "new" else "acknowledged" if host in lead.covered else "known"
                yield ({"host": host, "group": lead.group_of.get(host, lead.group),
                    "check": lead.fact if lead.authority in ("desired", "role") else "",
                    "fact": "" if lead.authority in ("desired", "role") else lead.fact,
                    "what": entry.what, "severity": lead.severity, "state": state, "id": lead.id},
                       wave.since.seen_at if wave.since is not None else None)
