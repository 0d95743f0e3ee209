"""What is said of one host alone beside what the report of the whole fleet says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, judge, report
from tunecheck_fleet.judge.exits import FAIL_ON, exit_code
from tunecheck_fleet.judge.load_view import view
from tunecheck_fleet.model import fault_of
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.junit import junit
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store.store import Store

__all__ = ["answers_alike", "told_twice"]


def told_twice(found: FleetReport) -> list[tuple[str, str, str]]:
    """(id, host, fact) of what a report tells twice of one host. What is over may have the id of what is open: it came
    back as something else."""
    count = Counter((each.id, host, each.fact, each.state == "resolved") for each in found.causes for host in each.hosts
                    if each.id)
    return sorted(key[:3] for key, times in count.items() if times > 1)


def answers_alike(store: Store, options: JudgeOptions | None = None, audit_id: int | None = None,
                  names: Iterable[str] | None = None, fact: str | None = None) -> int:
    """How many hosts were compared: JSON, JUnit, what a terminal and a pipe show, and every exit code."""
    options = replace(options or JudgeOptions(), now=store.clock())
    whole, seen, count = report(store, audit_id, options), view(store, audit_id, options), 0
    assert not told_twice(whole)
    for name in store.known_hosts() if names is None else names:
        wanted = replace(focus(judge(seen, options, name)[0], name, fact), judged=focus(whole, None, fact).judged)
        assert {(cause.id, fault_of(cause.fact, cause.code)) for cause in wanted.causes} == {
            (cause.id, fault_of(cause.fact, cause.code)) for cause in focus(whole, name, fact).causes}, name
        found = focus(report(store, audit_id, options, name), name, fact)
        assert document(found) == document(wanted), name
        assert junit(found) == junit(wanted), name
        unlisted, shown = focus(report(store, audit_id, options, name, listed=False), name, fact), _shown(wanted)
        for each in (found, unlisted):
            assert _shown(each) == shown, name
        count += 1
    return count


def _shown(found: FleetReport) -> tuple[list[str], list[int]]:
    texts = [terminal(found, Style(width), verbose, now=found.audit.started + 60)
             for width, verbose in ((0, False), (100, False), (100, True))]
    return texts, [exit_code(found, fail_on, missing) for missing in ("0", "5")
                   for fail_on in ((), *((each,) for each in FAIL_ON), FAIL_ON)]
