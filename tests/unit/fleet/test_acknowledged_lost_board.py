"""Who is at work on a lost GPU is at work on it also after the reboot that takes it out of the PCI tree, whichever
check or fact tells of it then; on another GPU nobody is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import Machine, driver
from tests.unit.fleet.lost_boards import goes_away, goes_silent
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.entries import Entry, entries
from tunecheck_fleet.events.folds import LOST
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Answer, Problem, Seen
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


@cache
def _box(change: Callable[[Machine], None] | None, declared: bool) -> Seen:
    machine = driver(eight_gpus(0x0011))
    if change is not None:
        change(machine)
    spec = big_spec() if declared else None
    told = seen(Answer("h0", "g", "ok", packed(Stored(
        gather(machine.host(), spec.spec if spec else None, True), spec))))
    # Of the fake machine.
    return replace(told, key="k", problems=tuple(each for each in told.problems if each.check != "cdi-spec"))


def _night(store: Store, told: Seen) -> list[Entry]:
    """The entries of lost GPUs."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("inventory", [("h0", "g")])
    store.put(head.id, told)
    store.finish(head.id)
    return [entry for entry in entries(report(store, head.id, JudgeOptions(now=store.clock())).causes)
            if entry.lead.counts and entry.what == LOST]


def _acknowledge(store: Store, entry: Entry) -> None:
    decide(store, report(store), "acknowledge", [entry.lead.id], author="ann", owner="bob")


@pytest.mark.parametrize("well_before", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_a_lost_gpu_stays_acknowledged_when_the_tree_drops_it(store: Store, declared: bool, well_before: bool) -> None:
    if well_before:
        _night(store, _box(None, declared))
    (lost,) = _night(store, _box(goes_silent, declared))
    _acknowledge(store, lost)
    for _ in range(3):
        found = _night(store, _box(goes_away, declared))
        # Of a box of which nobody knows how many it should have, nothing tells of it any more.
        assert found or not (declared or well_before)
        for entry in found:
            assert entry.lead.acknowledged is not None and entry.lead.acknowledged.owner == "bob", entry.lead.fact
    answers_alike(store)


def _one(*subjects: str) -> Seen:
    return Seen("h0", "g", "ok", key="k", hardware="hw", tunecheck="0.1.0", document=b"{}", problems=tuple(
        Problem("accelerator-count", subject, "fail", "is lost", code="does-not-answer") for subject in subjects))


@pytest.mark.parametrize("nights", [
    (("0000:86:00.0",),), ((), ("accelerators",)), ((), ("0000:26:00.0",)), (("0000:26:00.0",), (), ("accelerators",))])
def test_another_loss_is_not_acknowledged_with_it(store: Store, nights: tuple[tuple[str, ...], ...]) -> None:
    _night(store, _one())
    _night(store, _one("0000:26:00.0"))
    _acknowledge(store, entries(report(store).causes)[0])
    for subjects in nights:
        _night(store, _one(*subjects))
    last = [each.lead for each in entries(report(store).causes) if each.lead.counts]
    assert len(last) == 1 and last[0].acknowledged is None


def test_what_takes_its_place_again_and_again_stays_acknowledged(store: Store) -> None:
    _night(store, _one())
    _night(store, _one("0000:26:00.0"))
    _acknowledge(store, entries(report(store).causes)[0])
    for subject in ("accelerators", "0000:26:00.0", "accelerators"):
        for _ in range(2):
            _night(store, _one(subject))
            (lead,) = (each.lead for each in entries(report(store).causes) if each.lead.counts)
            assert lead.acknowledged is not None, subject
