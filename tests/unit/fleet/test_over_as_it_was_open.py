"""What is over is told under the id that it was open under, and in the entry that it was in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.nights import STATES, Fleet
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.entry_words import title
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.store import Store, open_store

_MARKS = sorted({*STATES, "old bios", "memory"})


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _audit(store: Store, told: Iterable[Seen]) -> FleetReport:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    hosts = list(told)
    head = store.begin("/inv", [(each.host, each.group) for each in hosts])
    for each in hosts:
        store.put(head.id, each)
    store.finish(head.id)
    return report(store, head.id, JudgeOptions(now=store.clock()))


def _ids(found: FleetReport, over: bool) -> dict[str, set[str]]:
    """The id of every entry that counts, or is over -> those of its parts."""
    return {each.lead.id: {more.id for more in each.more} for each in entries(found.causes)
            if (each.lead.state == "resolved" if over else each.lead.counts)}


@pytest.mark.parametrize("later", [0, 1])
@pytest.mark.parametrize("mark", _MARKS)
def test_each_entry_is_over_under_its_own_id(store: Store, mark: str, later: int) -> None:
    fleet = Fleet(hosts=10)
    host = min(name for name in fleet.boxes if not name.startswith("g99"))
    fleet.mark(mark, 2, [host], until=3 + later)
    _audit(store, fleet.night(1))
    opened = _ids(_audit(store, fleet.night(2)), over=False)
    for night in range(3, 3 + later):
        assert _ids(_audit(store, fleet.night(night)), over=False) == opened
    found = _audit(store, fleet.night(3 + later))
    assert _ids(found, over=True) == opened
    told: Any = document(found)
    assert {each["id"] for each in told["entries"] if each["kind"] == "resolved"} == set(opened)
    told = event(found)
    assert {each["id"] for each in json.loads(json.dumps(told))["resolved"]} == set(opened)


def _told(found: FleetReport, over: bool) -> dict[tuple[str, str], tuple[Any, ...]]:
    """(id, host) -> since when, and of a fact the values."""
    return {(cause.id, host): (wave.since, *((cause.before, cause.value) if cause.authority != "desired" else ()))
            for cause in found.causes for wave in cause.all_waves for host in wave.hosts
            if (cause.state == "resolved" if over else cause.counts)}


@pytest.mark.parametrize("later", [0, 1])
@pytest.mark.parametrize("mark", _MARKS)
def test_what_is_over_has_the_values_and_the_since_that_it_was_open_with_and_says_when_it_ended(
        store: Store, mark: str, later: int) -> None:
    fleet = Fleet(hosts=10)
    host = min(name for name in fleet.boxes if not name.startswith("g99"))
    fleet.mark(mark, 2, [host], until=3 + later)
    _audit(store, fleet.night(1))
    for night in range(2, 3 + later):
        opened = _told(_audit(store, fleet.night(night)), over=False)
    found = _audit(store, fleet.night(3 + later))
    assert _told(found, over=True) == opened
    ended = {(since.after, since.seen) for cause in found.causes for since in cause.ended.values()}
    assert ended == ({(2 + later, 3 + later)} if opened else set())
    told: Any = document(found)
    for each in (*told["causes"], *(event(found) or {"resolved": ()})["resolved"]):
        over = [(end["host"], end["since"]["seen"]) for end in each["ended"]]
        assert over == ([(name, 3 + later) for name in each["hosts"]] if each["state"] == "resolved" else []), each
    text = terminal(found, Style(0))
    ends = text.count(f"over since #{2 + later}..#{3 + later}")
    assert text.count("RESOLVED ") == ends == len(_ids(found, over=True))
    assert html(found).count("over since #") == sum(each.state == "resolved" for each in found.causes)


@pytest.mark.parametrize("mark", _MARKS)
def test_over_several_audits_it_is_the_same_entry_with_the_same_title(store: Store, mark: str) -> None:
    fleet = Fleet(hosts=10)
    host = min(name for name in fleet.boxes if not name.startswith("g99"))
    fleet.mark(mark, 2, [host], until=4)
    for night in range(1, 4):
        _audit(store, fleet.night(night))
    over = {(each.lead.id, title(each)) for each in entries(_audit(store, fleet.night(4)).causes)
            if each.lead.state == "resolved"}
    assert over
    for night in range(4, 6):
        options = JudgeOptions(now=store.clock(), since=1)
        for found in (report(store, None, options), focus(report(store, None, options, host), host, None)):
            told = [each for each in entries(found.causes) if each.lead.state == "resolved"]
            # What is no finding but a change is not told where it came and went: a note says that it did.
            assert {(each.lead.id, title(each)) for each in told} <= over, night
            assert told or (found.notes and mark != "gpu lost")
            for each in told:
                line, = [line for line in terminal(found, Style(120)).splitlines()
                         if line.startswith("RESOLVED") and f" {title(each)} on " in line]
                assert (f"{len(each.more)} more fact" in line) == bool(each.more)
        _audit(store, fleet.night(5))


def test_what_came_in_two_nights_is_over_as_two_entries(store: Store) -> None:
    fleet = Fleet(hosts=10)
    host = min(name for name in fleet.boxes if not name.startswith("g99"))
    fleet.mark("driver", 2, [host], until=4)
    fleet.mark("kernel", 3, [host], until=4)
    for night in (1, 2):
        _audit(store, fleet.night(night))
    opened = _ids(_audit(store, fleet.night(3)), over=False)
    assert set(_ids(_audit(store, fleet.night(4)), over=True)) == set(opened)


def test_the_fix_that_had_to_come_first_leads_also_what_is_over(store: Store) -> None:
    conflict = Problem("cmdline-conflict", "pcie_aspm.policy=performance", "fail", "taken back",
                       code="overridden")
    token = Problem("cmdline-token", "pcie_port_pm=off", "fail", "is not there", code="not-running")
    well = Seen("h", "g", "ok", tunecheck="0.1.0", document=b"{}", spec="s", known={
        "kernel.cmdline.pcie_aspm": None, "kernel.cmdline.pcie_port_pm": "off"})
    _audit(store, [well])
    opened = _ids(_audit(store, [replace(well, problems=(conflict, token), known={
        "kernel.cmdline.pcie_aspm": "off", "kernel.cmdline.pcie_port_pm": None})]), over=False)
    assert len(opened) == 1
    found = _audit(store, [well])
    assert _ids(found, over=True) == opened
    assert [each.lead.text for each in entries(found.causes) if each.lead.state == "resolved"] == [
        "kernel.cmdline.pcie_aspm is absent now"]
