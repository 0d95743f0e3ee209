"""What `fleet`, `drift` and a report of one host tell of a history is one story: an id that any of them prints is taken
by every command that takes ids, and stands for the same thing, on the same hosts, with the same owner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.nights import Fleet, audited

from tunecheck_fleet.cli.fleet import _restless
from tunecheck_fleet.decisions.by_id import decide, finding_of, shown_in
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.store.rows import Volatile
from tunecheck_fleet.store.store import Store

_NIGHTS = 7


def _fleet() -> Fleet:
    """What comes, goes, spreads and is approved, on boxes of which some fall silent."""
    fleet = Fleet(20, _NIGHTS)
    hosts = fleet.take(12)
    fleet.mark("gpu lost", 2, hosts[:1])
    fleet.mark("acs", 2, hosts[1:3])
    fleet.mark("smt", 3, hosts[3:4])
    fleet.mark("power", 3, hosts[4:5], until=5)
    fleet.mark("governor", 2, hosts[5:6], until=4)
    fleet.mark("vbios", 4, hosts[6:7])
    fleet.mark("swappiness", 3, hosts[7:8])
    fleet.mark("persistence", 2, hosts[8:9], until=6)
    fleet.mark("remap", 4, hosts[9:10])
    fleet.replaced_gpu(5, hosts[10])
    for number, host in enumerate(hosts):
        fleet.quiet(host, 5 + number % 2, 6, garbled=number % 3 == 0)
    return fleet


def _views(store: Store) -> Iterator[tuple[str, FleetReport]]:
    newest = store.audit().id
    for since in (0.0, *range(1, newest)):
        yield f"drift since {since}", report(store, None, JudgeOptions(since=since, union=True))
        for row in report(store).hosts if since == 0.0 else ():
            yield f"drift of {row.host}", focus(
                report(store, None, JudgeOptions(since=since), row.host), row.host, None)


@pytest.mark.parametrize("acknowledged", [False, True])
def test_every_id_is_the_same_thing_in_all_views(tmp_path: Path, acknowledged: bool) -> None:
    clock = [0.0]
    with Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0]) as store:
        seen: set[str] = set()

        def night(number: int, found: FleetReport) -> None:
            whole = report(store, None, JudgeOptions(union=True))
            silent = {row.host for row in whole.hosts if row.status not in ("ok", "partial")}
            for name, shown in _views(store) if number > 2 else ():
                for each in entries(shown.causes):
                    if not each.lead.counts or (each.lead.state == "new" and each.lead.id == ""):
                        continue
                    there = finding_of(shown_in(store, [each.lead.id]), each.lead.id).lead
                    alone = name.startswith("drift of")
                    assert set(each.lead.hosts) <= set(there.hosts) if alone else each.lead.hosts == there.hosts, name
                    assert each.lead.acknowledged == there.acknowledged or alone, (number, name)
                    assert {host for last in each.lead.last_heard for host in last.hosts} == silent & {
                        *each.lead.hosts}, name
                    seen.add(each.lead.fact)
            if acknowledged and number == 3:
                ids = [each.lead.id for each in entries(whole.causes) if each.lead.counts]
                decide(store, whole, "acknowledge", ids, author="ann")

        audited(store, _fleet(), clock, night)
        assert len(seen) > 6


@pytest.mark.parametrize(("hosts", "share", "said"), [
    (5, 0.2, "changed on 4.4% of the 9 hosts that answered, from one audit to the next, on average; "
             "today 1 value on 5 hosts"),
    (1, 1.0, "today 1 value on 1 host"), (4, 0.5, "today 2 values on 4 hosts")])
def test_how_often_a_fact_changed_and_what_it_is_have_a_base_each(hosts: int, share: float, said: str) -> None:
    assert said in _restless(Volatile("pcie.aspm", hosts, share, 0.044, False, heard=9))
