"""An id stands once in a report and is the same while the finding is open, whoever is silent, answers in part, or is
moved to another group; and what is said of an id is said of every host that stands under it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.fleet.nights import NIGHT, Fleet
from tests.unit.fleet.same_answers import answers_alike, told_twice

from tunecheck.report.style import Style
from tunecheck_fleet.decisions.by_id import decide, finding_of
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store.store import Store
from tunecheck_fleet.whole_causes import each_cause

_QUIET = 4      # after so many nights nothing happens any more but silences and moves


def _fleet(seed: int) -> Fleet:
    fleet = Fleet(16, _QUIET, seed)
    # Two racks, as unequal as the one of a small room.
    for number, name in enumerate(sorted(fleet.groups)):
        fleet.groups[name] = "rack1" if number < 10 else "rack2"
    rack = {group: [name for name in sorted(fleet.groups) if fleet.groups[name] == group]
            for group in ("rack1", "rack2")}
    rng = fleet.random
    fleet.mark("driver", 2, rack["rack2"])
    some = rng.sample(rack["rack1"], 8)
    kernel = fleet.mark("kernel", 2, some[:2])
    fleet.mark("kernel", 3, some[2:3], into=kernel)
    fleet.mark("acs", 3, some[3:4])
    fleet.mark("smt", 3, some[4:5])
    fleet.mark("remap", 2, [rng.choice(rack["rack2"])])
    fleet.mark("governor", 3, [rng.choice(rack["rack2"])])
    fleet.mark("gpu lost", 2, some[5:6])
    fleet.mark("link", 3, [some[6], rng.choice(rack["rack2"])])
    # Back again: of three hosts with the other kernel two are left.
    fleet.at(_QUIET, lambda: fleet.boxes[some[2]].marks.discard("kernel"))
    return fleet


def _told(found: FleetReport) -> dict[tuple[str, str], tuple[str, str]]:
    """(fact or check, host) -> the id under which it is open, and that of its entry."""
    return {(cause.fact, host): (cause.id, entry.lead.id) for entry in entries(found.causes) if entry.lead.counts
            for cause in (entry.lead, *entry.more) for host in cause.hosts}


def _once(found: FleetReport) -> None:
    assert told_twice(found) == []
    for listed in (found.causes, [each.lead for each in entries(found.causes)],
                   [each.lead for each in each_cause(found.causes)]):
        count = Counter((each.id, each.state == "resolved") for each in listed if each.id)
        assert [name for name, times in count.items() if times > 1] == []
    page = terminal(found, Style(0), True, now=found.audit.started)
    over = Counter(cause.id for cause in found.causes if cause.state == "resolved")
    for cause in found.causes:
        if cause.counts:        # once as open, and once where it is over on other hosts
            assert page.count(f"id {cause.id}") == 1 + over[cause.id], cause.fact


def _in_part(said: Seen, facts: list[str]) -> Seen:
    """The same without these facts."""
    return replace(said, status="partial", reason="some facts unknown",
                   known={name: value for name, value in said.known.items() if name not in facts},
                   unknown={**said.unknown, **dict.fromkeys(facts, "not read")})


@pytest.mark.parametrize("seed", range(4))
def test_who_is_silent_or_moved_changes_no_id(seed: int, tmp_path: Path) -> None:
    fleet, rng = _fleet(seed), random.Random(seed)
    clock = [0.0]
    with Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0]) as store:

        def night(number: int, silent: set[str], part: dict[str, list[str]]) -> FleetReport:
            clock[0] = 1_800_000_000.0 + number * NIGHT
            answers = list(fleet.night(number))
            head = store.begin("inventory", fleet.asked())
            for said in answers:
                store.put(head.id, Seen(said.host, said.group, "unreachable", "no route to host")
                          if said.host in silent else _in_part(said, part[said.host]) if said.host in part else said)
            store.finish(head.id)
            found = report(store, head.id)
            _once(found)
            return found

        for number in range(1, _QUIET + 1):
            found = night(number, set(), {})
        first = _told(found)
        count = sum(entry.lead.counts for entry in entries(found.causes))
        assert count >= 8
        hosts = sorted(fleet.boxes)
        for number in range(_QUIET + 1, _QUIET + 6):
            silent = set(rng.sample(hosts, rng.randrange(3)))
            part = {name: rng.sample(["kernel.running", "driver.loaded", "driver.file", "cpu.smt", "gpu.remap_failed",
                                      "cpu.governor", "acs.redirecting"], 3) for name in rng.sample(hosts, 2)}
            found = night(number, silent, part)
            now = _told(found)
            wrong = {key: (then, now.get(key)) for key, then in first.items() if now.get(key) != then}
            assert not wrong, (number, silent, part)
            answers_alike(store, names=hosts[::6])
        mover = rng.choice([name for name in hosts if fleet.groups[name] == "rack2"])
        fleet.groups[mover] = "rack1"
        found = night(number + 1, set(), {})
        now = _told(found)
        assert {key: (then, now.get(key)) for key, then in first.items() if now.get(key) != then} == {}
        assert any(f"{mover} is in group rack1 now, before in rack2" in note for note in found.notes)
        assert [(span.before, span.value, span.since.seen) for span in store.presence(mover)
                if span.fact == "host.group"] == [(None, "rack2", 1), ("rack2", "rack1", found.audit.id)]
        answers_alike(store, names=[mover, *hosts[::6]])
        # What is said of an id is said of all its hosts.
        for entry in [each for each in each_cause(found.causes) if each.lead.counts]:
            there = finding_of(found, entry.lead.id)
            decide(store, found, "acknowledge", [entry.lead.id], author="ann")
            covered = [each for each in report(store).causes if each.id == entry.lead.id and each.counts]
            assert [set(each.covered) for each in covered] == [set(there.lead.hosts)], entry.lead.fact
        _once(report(store))
        found = night(number + 2, {mover}, {})
        assert all(set(each.covered) == set(each.hosts) for each in found.causes if each.counts)
