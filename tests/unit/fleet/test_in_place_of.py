"""Of two acknowledgements of one thing the later one holds, and says in whose place it stands: of those that held until
then, and of no other. ``over`` says of the others that nothing of them is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.decisions.covered import over
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

_FOUND = (Problem("cpu-lost", "CPUs", "warn", "CPU 7 of 8 offline", code="offline", observed="0-6"),)
_VALUE = {"kernel.cmdline.pci": "off"}


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        _night(store, None)
        yield store


def _night(store: Store, what: str | None, *hosts: str) -> None:
    """``what``: what is wrong on these hosts (none given: on h alone)."""
    head = store.begin("folder", [("h", "g"), ("i", "g")])
    for name in ("h", "i"):
        bad = what if name in (hosts or ("h",)) else None
        store.put(head.id, Seen(name, "g", "ok", known={"gpu.count": 8, "kernel.cmdline.pci": "on",
                                                        **(_VALUE if bad == "value" else {})},
                                tunecheck="0.1.0", document=b"{}", problems=_FOUND if bad == "check" else ()))
    store.finish(head.id)


def _acknowledged(store: Store, author: str, audit: int | None = None, times: int = 1) -> list[list[str]]:
    """Of each decision, in whose place it stands."""
    found = report(store, audit, JudgeOptions())
    [cause] = [each for each in found.causes if each.counts]
    return [[each.author for each in said.in_place_of] for said in decide(
        store, found, "acknowledge", [cause.id] * times, author=author)]


def _holds(store: Store) -> str:
    [cause] = [each for each in report(store).causes if each.counts]
    return cause.acknowledged.author if cause.acknowledged else ""


@pytest.mark.parametrize("what", ["check", "value"])
def test_the_one_that_held_until_now(store: Store, what: str) -> None:
    _night(store, what)
    assert _acknowledged(store, "ann") == [[]]
    _night(store, what)
    assert _acknowledged(store, "bob") == [["ann"]]
    assert _acknowledged(store, "eve") == [["bob"]]
    for number, author in ((3, "bob"), (2, "ann"), (1, "")):
        store.end_decision(number)
        assert _holds(store) == author


@pytest.mark.parametrize("what", ["check", "value"])
def test_not_one_that_was_made_before_it_came(store: Store, what: str) -> None:
    """It was over then, and came again."""
    _night(store, what)
    _acknowledged(store, "ann")
    for bad in (None, what):
        _night(store, bad)
    assert _holds(store) == ""
    assert _acknowledged(store, "bob") == [[]]
    assert set(over(store, store.decisions())) == {1}
    store.end_decision(2)
    assert _holds(store) == ""


def test_since_when_one_is_over_is_told_of_what_it_was_about(store: Store) -> None:
    _night(store, "check")
    _acknowledged(store, "ann")
    for bad in (None, "check", None, "check"):
        _night(store, bad)
        assert over(store, store.decisions()) == {1: 3}


@pytest.mark.parametrize("what", ["check", "value"])
def test_not_one_as_of_a_later_audit_which_still_holds(store: Store, what: str) -> None:
    for _ in range(2):
        _night(store, what)
    _acknowledged(store, "ann")
    assert _acknowledged(store, "bob", audit=2) == [[]]
    assert _holds(store) == "ann"


def test_one_that_is_named_twice_is_acknowledged_once(store: Store) -> None:
    _night(store, "check")
    assert _acknowledged(store, "ann", times=2) == [[]]
    assert len(store.decisions()) == 1


@pytest.mark.parametrize("name", ["cpu-lost/CPUs", "cpu-lost"])
def test_one_of_an_older_version(store: Store, name: str) -> None:
    """It holds under the name that it was kept with."""
    _night(store, "check")
    _acknowledged(store, "ann")
    with store.db.write() as connection:
        connection.execute(text("UPDATE decided SET name = :name"), {"name": name})
    assert _holds(store) == "ann"
    assert _acknowledged(store, "bob") == [["ann"]]


def test_of_several_hosts_each_that_held_on_one(store: Store) -> None:
    _night(store, "check")
    _acknowledged(store, "ann")
    _night(store, "check", "h", "i")
    assert _acknowledged(store, "bob") == [["ann"]]
    store.end_decision(2)
    [cause] = report(store).causes
    assert cause.acknowledged and cause.covered == ("h",)
