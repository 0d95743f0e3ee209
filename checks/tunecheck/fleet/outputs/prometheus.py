"""An audit as a textfile for node_exporter's collector on the control node. docs/metrics.md says what each
metric means.

No value is ever a label: each new value would be a new series. A host that did not answer has no sample of its own.
"""

from __future__ import annotations

from collections import Counter

from ...report.prometheus import exposition
from ..verdict import FleetReport
from .words import KINDS, SEVERITIES, STATUSES, groups, kind

__all__ = ["METRICS", "prometheus"]

_Sample = tuple[dict[str, str], float]

#: Name -> help; all of them gauges.
METRICS = {
    "tunecheck_audit_timestamp_seconds": "When the last audit began, in seconds since 1970.",
    "tunecheck_audit_duration_seconds": "How long the last audit took; no sample where it was not finished.",
    "tunecheck_audit_hosts_asked": "Hosts that the inventory of the last audit named.",
    "tunecheck_hosts": "Hosts of the last audit by how they answered.",
    "tunecheck_causes": "Causes of the last audit by state; only new and known ones are drift.",
    "tunecheck_drift": "Causes that count as drift.",
    "tunecheck_drift_hosts": "Hosts with at least one cause that counts as drift.",
    "tunecheck_host_drift": "Causes that count as drift on one host.",
    "tunecheck_splits": "Facts on which a group does not agree.",
    "tunecheck_changed_values": "Values that changed since the audit before.",
}

#: More hosts than this have no series of their own; those with drift come first.
_MOST_HOSTS = 5000


def prometheus(report: FleetReport) -> str:
    """The text exposition format."""
    counted = [cause for cause in report.causes if cause.counts]
    states = Counter(kind(cause) for cause in report.causes)
    named = groups(report)
    drift: Counter[tuple[str, str]] = Counter((cause.group, cause.severity) for cause in counted)
    struck: dict[tuple[str, str], set[str]] = {}
    of_host: Counter[tuple[str, str]] = Counter()
    for cause in counted:
        struck.setdefault((cause.group, cause.severity), set()).update(cause.hosts)
        of_host.update((host, cause.severity) for host in cause.hosts)
    drifted = dict.fromkeys(host for host, _ in of_host)
    heard = [*drifted, *(row.host for row in report.hosts if row.status in ("ok", "partial")
                         and row.host not in drifted)][:_MOST_HOSTS]
    audit = report.audit
    took: list[_Sample] = [] if audit.finished is None else [({}, round(audit.finished - audit.started, 3))]
    splits = Counter(split.group for split in report.splits)
    changed: list[_Sample] = [({}, changes) for number, _, changes, _ in report.timeline[-1:] if number == audit.id]
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
        "tunecheck_host_drift": [({"host": host, "severity": severity}, of_host[host, severity])
                                 for host in heard for severity in SEVERITIES],
        "tunecheck_splits": [({"group": group}, splits[group]) for group in named],
        "tunecheck_changed_values": changed,
    }, METRICS)
