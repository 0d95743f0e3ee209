"""A report as an exit code, for cron and CI."""

from __future__ import annotations

import re
from collections.abc import Collection

from tunecheck.errors import Misuse, UsageError

from ..fleet_report import FleetReport
from .verdict import outcome

__all__ = ["FAIL_ON", "allowed_missing", "exit_code"]

FAIL_ON = ("drift", "fail", "unknown", "coverage")


def allowed_missing(text: str, asked: int) -> int:
    """How many hosts may be missing: "3", or "2%" of those asked, rounded down."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(%?)", text.strip())
    if not found or (not found[2] and "." in found[1]) or (found[2] and float(found[1]) > 100):
        raise UsageError(f"--max-missing {text[:40]!r} is neither a number of hosts (3) nor a share (2%)",
                         Misuse.MALFORMED)
    return int(asked * float(found[1]) / 100) if found[2] else int(found[1])


def exit_code(report: FleetReport, fail_on: Collection[str] = (), max_missing: str = "0") -> int:
    """0 audited, nothing of ``fail_on``; 1 something of it; 2 no host answered; 3 more than ``max_missing`` hosts did
    not answer, or only in part. What is waived, resolved or came from our own roles is no reason.

    drift: whatever makes the last line say DRIFT. fail: of that only what a check of the desired state calls so, or a
    role's dry run beside it. unknown: what a check cannot tell, which is drift only where it was known once. What
    failed when it was told last is all three: that nobody can look any more is no repair. coverage: what would be a 3
    is a 1. Raises UsageError."""
    wrong = sorted(set(fail_on) - set(FAIL_ON))
    if wrong:
        raise UsageError(f"--fail-on {wrong[0][:40]!r} is not one of {', '.join(FAIL_ON)}", Misuse.MALFORMED)
    allowed = allowed_missing(max_missing, len(report.hosts))
    if not report.answered:
        return 2
    short = len(report.hosts) - report.count("ok") > allowed
    hit = {
        "drift": outcome(report) == "drift",
        "fail": any(cause.authority == "role" or (cause.authority == "desired" and "fail" in (cause.outcome, cause.was))
                    for cause in report.drift),
        "unknown": any(cause.outcome == "unknown" or cause.untold for cause in report.open),
        "coverage": short,
    }
    return 1 if any(hit[name] for name in fail_on) else 3 if short else 0
