"""The roles' dry run beside the checks: a role that would change nothing where its check fails misses something."""

from __future__ import annotations

from collections.abc import Iterable

from ..check_diff_model import Claim
from .rows import Row
from .view import View

__all__ = ["roles"]


def roles(view: View, claims: Iterable[Claim]) -> list[Row]:
    hosts = {host.host: host for host in view.hosts}
    rows = []
    for claim in claims:
        host = hosts.get(claim.host)
        if host is None or claim.verdict != "same":
            continue
        failing = [problem for problem in host.problems if problem.check == claim.check and problem.outcome == "fail"]
        if failing:
            tasks = ", ".join(claim.tasks[:3]) + (f" and {len(claim.tasks) - 3} more" if len(claim.tasks) > 3 else "")
            rows.append(Row(
                "role", "high", claim.check, host.group, host.host, expected="a role that would change it",
                fix="none", state="known", subject=failing[0].subject, outcome="fail", same=tasks,
                text=f"the check fails, and the role's dry run says no change ({tasks}): the role does not reach what "
                     "the check looks at", remedy="report it with the box's record: it is a fault of the role"))
    return rows
