"""What the checks said of each host, counted. What failed and cannot be told now has not passed: it counts as it was
last known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from ..fleet_report import FleetReport, HostRow
from ..judge.found.problems import told_as
from ..judge.view_parts import gone_dark
from ..model import Problem, Thing, subject_key

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["Checks", "checks_of_hosts"]


class Checks(NamedTuple):
    """Findings of a host by outcome. ``last_known``: those that fail or warn of which nothing can be told now."""

    failing: int
    warnings: int
    unknown: int
    last_known: int


def checks_of_hosts(store: Store, report: FleetReport) -> dict[str, Checks]:
    """Host -> what its checks said."""
    dark = gone_dark(report.hosts, store.open_findings(report.audit.id))
    dark = {row.host: lost for row in report.hosts if (lost := _lost(row, dark.get(row.host, ())))}
    words = store.last_words(dark, report.audit.id)
    found = {}
    for row in report.hosts:
        told = Counter(str(problem.outcome) for problem in row.problems)
        # A finding on two GPUs is one.
        things: dict[object, str] = {}
        for check, subject, code, outcome in dark.get(row.host, ()):
            thing: Problem | Thing = words.get((row.host, check, subject_key(subject), code), (check, subject, code))
            things[thing] = outcome
        last = Counter(things.values())
        found[row.host] = Checks(told["fail"] + last["fail"], told["warn"] + last["warn"], told["unknown"], len(things))
    return found


def _lost(row: HostRow, dark: Collection[tuple[str, str, str, str]]) -> set[tuple[str, str, str, str]]:
    """Those of the findings that the host does not tell any more, neither so nor otherwise."""
    said = {each for problem in row.problems if problem.outcome != "unknown" for thing in problem.things
            for each in told_as(*thing)}
    return {each for each in dark if (each[0], subject_key(each[1]), each[2]) not in said}
