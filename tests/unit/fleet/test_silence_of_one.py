"""Who is silent changes nothing of what is said of the others: their group is as large as before, and what most have is
still what most have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, boxes: Mapping[str, tuple[str, Mapping[str, object] | None]]) -> FleetReport:
    """Name -> hardware, and what it told; None: it is silent."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("inventory", [(name, "g") for name in boxes])
    for name, (hardware, known) in boxes.items():
        store.put(head.id, Seen(name, "g", "unreachable", "no route to host") if known is None else Seen(
            name, "g", "ok", key=f"key {name}", hardware=hardware, document=b"{}", known=dict(known),
            tunecheck="0.1.0"))
    store.finish(head.id)
    return report(store, None, JudgeOptions(now=store.clock(), baseline="majority"))


def _told(found: FleetReport) -> dict[tuple[str, str], tuple[object, ...]]:
    """(fact, host) -> what is said of it."""
    return {(cause.fact, host): (cause.id, cause.authority, cause.value, cause.before, cause.expected, cause.outcome)
            for cause in found.causes if cause.counts for host in cause.hosts}


#: Of each fact which hosts have another value than the others. Those that are last in the order lack a GPU.
_ODD = {"sysctl.a": (0,), "sysctl.b": (1,), "kernel.cmdline.mitigations": (2,), "sysctl.c": (3,), "sysctl.same": ()}
_FULL, _LESS = (f"board, cpu, x86_64: {count} x RTX PRO 6000, 1024 GiB" for count in (8, 7))


def _boxes(size: int, less: int = 0) -> dict[str, tuple[str, Mapping[str, object] | None]]:
    return {f"n{number}": (_LESS if number >= size - less else _FULL, {
        fact: "other" if number in odd else "usual" for fact, odd in _ODD.items()}) for number in range(size)}


@pytest.mark.parametrize("less", [0, 1, 2])
@pytest.mark.parametrize("size", [4, 5, 6, 7, 10])
def test_one_silent_host_changes_nothing_that_is_said_of_the_others(store: Store, size: int, less: int) -> None:
    boxes = _boxes(size, less)
    _night(store, boxes)
    first = _told(_night(store, boxes))
    for name, (hardware, _) in boxes.items():
        assert _told(_night(store, {**boxes, name: (hardware, None)})) == first, name
        answers_alike(store)
    for some in (list(boxes)[1:3], list(boxes)[-2:], list(boxes)):
        silent = {name: (boxes[name][0], None) for name in some}
        assert _told(_night(store, {**boxes, **silent})) == first, some


def test_a_report_of_one_host_of_many_counts_the_silent_ones_too(store: Store) -> None:
    boxes = _boxes(104, 1)
    _night(store, boxes)
    first = _told(_night(store, boxes))
    silent = {name: (boxes[name][0], None) for name in ("n0", "n103", *(f"n{number}" for number in range(10, 30)))}
    assert _told(_night(store, {**boxes, **silent})) == first
    answers_alike(store, names=("n0", "n1", "n2", "n50"))


def test_what_the_others_have_since_it_is_silent_is_no_vote_of_it(store: Store) -> None:
    """Nobody knows whether it moved with them: it neither differs from them, nor takes their majority away."""
    boxes = _boxes(7)
    _night(store, boxes)
    moved = {name: (hardware, {**(known or {}), "sysctl.same": "new"}) for name, (hardware, known) in boxes.items()}
    silent = {name: (boxes[name][0], None) for name in ("n4", "n5")}
    told = _told(_night(store, {**moved, "n6": boxes["n6"], **silent}))
    assert {host for fact, host in told if fact == "sysctl.same"} <= {"n0", "n1", "n2", "n3", "n6"}


@pytest.mark.parametrize("size", [3, 104])
def test_clones_stay_clones_and_a_box_under_another_name_is_none(store: Store, size: int) -> None:
    """Two that told one serial in the same audit are two boxes, also while one is silent, or both; one that tells the
    serial of a box that is silent since before may be that box."""
    hardware = "hw"
    own: dict[str, tuple[str, Mapping[str, object] | None]] = {
        f"n{number}": (hardware, {"identity.board": f"SN{number}", "sysctl.a": 1}) for number in range(size)}
    clones = {**own, "n1": (hardware, {"identity.board": "SN0", "sysctl.a": 1})}
    _night(store, own)
    first = _told(_night(store, clones))
    assert {host for fact, host in first if fact == "identity.board"} == {"n0", "n1"}
    for silent in (("n0",), ("n1",), ("n0", "n1"), ()):
        assert _told(_night(store, {**clones, **{name: (hardware, None) for name in silent}})) == first, silent
        answers_alike(store, names=("n0", "n1", "n2"))
    _night(store, own)
    _night(store, {**own, "n2": (hardware, None)})
    late = {**own, "n2": (hardware, None), "n1": (hardware, {"identity.board": "SN2", "sysctl.a": 1})}
    for _ in range(2):
        assert "identity.board" not in {fact for fact, _ in _told(_night(store, late))}
        answers_alike(store, names=("n0", "n1", "n2"))
