"""Whatever was open under an id, and is not any more, is told once as resolved under that id: in the report of all, and
in that of each of its hosts, whatever kind of entry it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.store.stores import Clock, one, seen

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store

_UUIDS = "gpu.uuids"
_Night = list[Seen]


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _host(name: str, *uuids: str, **more: Any) -> Seen:
    return seen(name, {_UUIDS: list(uuids)} if uuids else more.pop("known", {}), **more)


def _hosts(count: int, *, fact: str = "driver.loaded", value: Any = "1") -> _Night:
    return [_host(f"o{number}", known={fact: value}) for number in range(count)]


def _problem(outcome: Any = "fail") -> Problem:
    return Problem("swap", "swap", outcome, "there is swap", code="swap-on")


#: Kind of entry -> the nights. In the last one nothing of it is open.
_OVER: dict[str, list[_Night]] = {
    "a GPU that another host has, cured": [[_host("h1", "A", "B"), _host("h2", "B", "C")],
                                           [_host("h1", "A", "B"), _host("h2", "D", "C")]],
    "a GPU that another host has, which left": [[_host("h1", "A", "B"), _host("h2", "B", "C")],
                                                [_host("h1", "A", "B")]],
    "a GPU that three hosts have": [[_host("h1", "B"), _host("h2", "B"), _host("h3", "B")],
                                    [_host("h1", "B"), _host("h2", "C"), _host("h3", "D")]],
    "a clone that has a key of its own": [[_host("h1", key="K"), _host("h2", key="K")],
                                          [_host("h1", key="K"), _host("h2", key="L")]],
    "a clone whose first host has a key of its own": [[_host("h1", key="K"), _host("h2", key="K")],
                                                      [_host("h1", key="L"), _host("h2", key="K")]],
    "a clone that left": [[_host("h1", key="K"), _host("h2", key="K")], [_host("h1", key="K")]],
    "exchanged names": [[_host("h1", key="K"), _host("h2", key="L")], [_host("h1", key="L"), _host("h2", key="K")],
                        [_host("h1", key="K"), _host("h2", key="L")]],
    "a finding": [[_host("h1")], [_host("h1", problems=[_problem()])], [_host("h1")]],
    "a change": [[_host("h1", known={"driver.loaded": value})] for value in ("1", "2", "1")],
    "a value unlike the others": [[*_hosts(9), _host("h1", known={"driver.loaded": value})]
                                  for value in ("1", "2", "1")],
    "a finding of which nothing was known": [[_host("h1", problems=[_problem("unknown")])], [_host("h1")]],
}


def _ids(found: FleetReport, *states: str) -> set[str]:
    return {cause.id for cause in found.causes if cause.id and cause.state in states}


def _followed(store: Store, night: _Night, before: FleetReport) -> FleetReport:
    one(store, *night)
    now = report(store, None, JudgeOptions())
    left = _ids(before, "new", "grown", "known") - _ids(now, "new", "grown", "known")
    assert left <= _ids(now, "resolved"), [(each.id, each.authority, each.fact) for each in before.causes
                                           if each.id in left]
    again = [cause.id for cause in now.causes if cause.state == "resolved"]
    assert len(again) == len(set(again))
    for cause in now.causes:
        for host in cause.hosts if cause.state == "resolved" else ():
            if host in {row.host for row in now.hosts}:
                assert cause.id in _ids(report(store, None, JudgeOptions(), host), "resolved"), (host, cause.fact)
    return now


@pytest.mark.parametrize("kind", _OVER)
def test_what_is_over_is_told_once_under_its_id(store: Store, kind: str) -> None:
    nights = _OVER[kind]
    one(store, *nights[0])
    found = report(store, None, JudgeOptions())
    opened: set[str] = _ids(found, "new", "known")
    for night in nights[1:]:
        found = _followed(store, night, found)
        opened |= _ids(found, "new", "known")
    assert opened and _ids(found, "resolved")
    # Also in words: by the id somebody finds what he was told of it.
    leads = {entry.lead.id for entry in entries(found.causes) if entry.lead.state == "resolved"}
    for width, verbose in ((0, False), (80, False), (100, False), (100, True)):
        shown = terminal(found, Style(width), verbose, now=found.audit.started)
        assert [each for each in leads if each not in shown] == []
    assert not _ids(_followed(store, nights[-1], found), "resolved")


def _silent(name: str) -> Seen:
    return seen(name, status="unreachable", reason="down")


@pytest.mark.parametrize("night", [
    [_host("h1", "A", "B"), seen("h2", unknown={_UUIDS: "not read"}, status="partial")],
    [_host("h1", "A", "B"), _silent("h2")],
    [_silent("h1"), _silent("h2")],
])
@pytest.mark.parametrize("key", ["", "K"])
def test_what_cannot_be_told_ends_nothing(store: Store, night: _Night, key: str) -> None:
    first = [seen(name, {_UUIDS: ["A", "B"]}, key=key or f"key-{name}") for name in ("h1", "h2")]
    one(store, *first)
    one(store, *(replace(each, key=key or f"key-{each.host}") if each.status != "unreachable" else each
                 for each in night))
    assert not _ids(report(store, None, JudgeOptions()), "resolved")


def test_an_audit_that_goes_on_ends_nothing(store: Store) -> None:
    one(store, _host("h1", "B"), _host("h2", "B"))
    head = store.begin("all", [("h1", "g"), ("h2", "g")])
    store.put(head.id, _host("h1", "B"))
    assert not _ids(report(store, head.id, JudgeOptions()), "resolved")
