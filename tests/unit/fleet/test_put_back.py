"""A change towards what is wanted has no fix that puts it back: what the specification asks for, what most of the other
hosts have, what somebody approved, and what our own roles did. A change away from it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.reports import WHEN, cause
from tests.unit.fleet.reports import report as reported
from tests.unit.fleet.rows import move, since, view
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, Decision, FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge, report
from tunecheck_fleet.judge.view import View
from tunecheck_fleet.judge.view_rows import Meta
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store

_FACT, _BACK, _OTHERS = "kernel.cmdline.mitigations", "to put it back", "changed to what most of the others have"


def _texts(found: FleetReport) -> Iterator[str]:
    for width in (0, 80, 200):
        for verbose in (False, True):
            yield " ".join(terminal(found, Style(width), verbose, WHEN).split())
    yield html(found)


def _changed(before: str | None, value: str | None, seen: int = 5, **others: str | None) -> View:
    moves = (move("r1", _FACT, before, value, seen),)
    return view({"r1": {_FACT: value}, **{host: {_FACT: each} for host, each in others.items()}},
                moves=moves if seen == 5 else (), unapproved=moves if seen < 5 else (),
                meta={_FACT: Meta(severity="high", fix="reboot")})


@pytest.mark.parametrize("seen", [5, 4])
@pytest.mark.parametrize(("before", "value"), [("off", None), (None, "off"), ("on", "off")])
def test_what_most_of_the_others_have_is_not_to_be_put_back(before: str | None, value: str | None, seen: int) -> None:
    for count in (2, 3):
        found = judge(_changed(before, value, seen, **{f"s{each}": value for each in range(count)}), JudgeOptions())[0]
        (only,) = found.causes
        assert (only.expected, only.counts, only.fix) == (_OTHERS, True, "none")
        assert not [text for text in _texts(found) if _BACK in text]
    away = judge(_changed(before, value, seen, s1=before, s2=before, s3=value), JudgeOptions())[0]
    alone = judge(_changed(before, value, seen, s1=value), JudgeOptions())[0]
    for found in (away, alone):
        assert _OTHERS not in str(found.causes) and any(_BACK in text for text in _texts(found))


def test_hosts_that_changed_with_it_are_no_others() -> None:
    values = {f"r{each}": {_FACT: "off"} for each in range(4)}
    moves = tuple(move(host, _FACT, None, "off") for host in ("r1", "r2", "r3"))
    found = judge(view(values, moves=moves, meta={_FACT: Meta(fix="reboot")}), JudgeOptions())[0]
    assert any(_BACK in text for text in _texts(found))


@pytest.mark.parametrize(("before", "now", "declared", "right"), [
    (["iommu=pt"], ["iommu=pt", "pci=a,b"], ("pci=a", "pci=b"), True),
    (["amd_iommu=off"], ["iommu=pt"], ("iommu=pt",), True),
    (None, ["iommu=pt"], ("iommu=pt",), True),
    (["iommu=pt"], ["iommu=pt", "pci=a,c"], ("pci=a", "pci=b"), False),
    (["iommu=pt", "x"], ["iommu=pt", "pci=a"], ("pci=a",), False),
    (["iommu=pt"], [], ("iommu=pt",), False),
    (["iommu=pt"], ["x"], (), False),
])
@pytest.mark.parametrize("until", [5, None])
def test_words_that_were_declared_and_missing_are_not_to_be_put_back(
        before: list[str] | None, now: list[str], declared: tuple[str, ...], right: bool, until: int | None) -> None:
    seen = view({"r1": {}}, moves=(move("r1", "boot.configured", before, now),),
                meta={"boot.configured": Meta(fix="reboot")})
    spans = [("r1", "cmdline-token", word, 1, 5) for word in declared] if until else []
    began = {} if until else {"r1": {("cmdline-token", word, ""): since(1) for word in declared}}
    found = judge(dataclasses.replace(seen, contradicted=frozenset(spans), began=began), JudgeOptions())[0]
    (only,) = found.causes
    assert only.asked == (("r1",) if right else ())
    assert any(_BACK in text for text in _texts(found)) != right


def _told(**given: object) -> Cause:
    return cause(authority="previous", state="known", expected="changed", **given)


def test_what_was_meant_so_is_not_to_be_put_back() -> None:
    decision = Decision(1, "approve", 365, "1a", "title", "ann", "", "", "wanted", WHEN)
    for meant in (_told(approved=decision), _told(intended=True)):
        assert not [text for text in _texts(reported(causes=(meant,))) if _BACK in text]
    assert any(_BACK in text for text in _texts(reported(causes=(_told(),))))


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, **values: str) -> FleetReport:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    started = store.begin("inventory", [(host, "g") for host in values])
    for host, value in values.items():
        store.put(started.id, Seen(host, "g", "ok", key=f"key {host}", hardware="hw", known={_FACT: value or None},
                                   document=b"{}", tunecheck="0.1.0"))
    store.finish(started.id)
    return report(store, None, JudgeOptions(now=store.clock()))


def test_a_box_of_a_small_fleet_that_joins_the_others(store: Store) -> None:
    fleet = {f"n{number}": "off" for number in range(4)}
    _night(store, **{**fleet, "n1": ""})
    for _ in range(3):
        (only,) = _night(store, **fleet).causes
        assert (only.hosts, only.expected, only.fix) == (("n1",), _OTHERS, "none")
        answers_alike(store)
    (away,) = (each for each in _night(store, **{**fleet, "n2": ""}).causes if each.hosts == ("n2",))
    assert (away.expected, away.fix) == ("changed", "reboot")
