"""A warning that nobody could tell before, first told in the audit in which a fact that the check looks at changed, is
no warning that always stood: it is told with the change, until somebody has approved that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike

from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Change, Problem, Seen
from tunecheck_fleet.store import Store, open_store

_LOOKED_AT = [("acs-persistence", "kernel.cmdline.pci"), ("iommu-trap", "kernel.cmdline.amd_iommu"),
              ("cmdline-unknown", "kernel.cmdline.pcie_aspm"), ("init-on-alloc", "kernel.cmdline.init_on_alloc"),
              ("iommu-mode", "iommu.mode"), ("link-aspm", "pcie.aspm")]
_OLD, _NEW, _OTHER = "on", "off", "other"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


def _night(store: Store, fact: str, value: str | None, *problems: Problem, changes: tuple[Change, ...] = (),
           untold: tuple[str, ...] = ()) -> None:
    """``value``: None: it cannot be read."""
    head = store.begin("folder", [("h", "g")])
    known = {"gpu.count": 8} if value is None else {"gpu.count": 8, fact: value}
    store.put(head.id, Seen("h", "g", "partial" if value is None else "ok", known=known, tunecheck="0.1.0",
                            unknown={fact: "unread"} if value is None else {}, document=b"{}", problems=problems,
                            changes=changes, untold=untold))
    store.finish(head.id)


def _cause(store: Store, check: str) -> Cause:
    [cause] = [each for each in report(store, None, JudgeOptions()).causes if each.fact == check]
    return cause


def _found(check: str) -> Problem:
    return Problem(check, "the box", "warn", "is so", code="some-code", observed="it")


@pytest.mark.parametrize(("check", "fact"), _LOOKED_AT)
def test_it_is_news_with_the_change_and_stands_when_that_is_approved(store: Store, check: str, fact: str) -> None:
    _night(store, fact, _OLD, untold=(check,))
    for _ in range(2):
        _night(store, fact, _NEW, _found(check))
        cause = _cause(store, check)
        assert not cause.standing and cause.counts
        assert answers_alike(store, JudgeOptions()) == 1
    found = report(store, None, JudgeOptions())
    if change := [each for each in found.causes if each.fact == fact]:
        decide(store, found, "approve", [each.id for each in change], author="ann")
        assert _cause(store, check).standing


@pytest.mark.parametrize(("check", "fact"), _LOOKED_AT)
def test_it_stands_where_nothing_changed_that_the_check_looks_at(store: Store, check: str, fact: str) -> None:
    _night(store, fact, _OLD, untold=(check,))
    _night(store, fact, _OLD, _found(check))
    assert _cause(store, check).standing
    _night(store, fact, _NEW, _found(check))
    assert _cause(store, check).standing, "it was told before the change came"


@pytest.mark.parametrize(("check", "fact"), _LOOKED_AT)
def test_it_stands_where_it_was_there_when_the_box_was_first_heard(store: Store, check: str, fact: str) -> None:
    _night(store, fact, _OLD, _found(check))
    _night(store, fact, _NEW, _found(check))
    assert _cause(store, check).standing


def _silent(store: Store) -> None:
    head = store.begin("folder", [("h", "g")])
    store.put(head.id, Seen("h", "g", "unreachable", "no route"))
    store.finish(head.id)


#: Nights after the first one: the value that could be read, and whether the check told of it; None: silent.
_NIGHTS: dict[str, list[tuple[str | None, bool] | None]] = {
    "changed again": [(_NEW, True), (_OTHER, True)], "changed twice": [(_NEW, True), (_OTHER, True), (_NEW, True)],
    "read a night later": [(None, True), (_NEW, True)],
    "told with another change": [(_NEW, False), (_OTHER, True)],
    "cannot be told again": [(_NEW, True), (_NEW, False)], "cannot be read again": [(_NEW, True), (None, True)],
    "silent before": [None, (_NEW, True)], "silent now": [(_NEW, True), None],
}


@pytest.mark.parametrize("nights", _NIGHTS)
@pytest.mark.parametrize(("check", "fact"), _LOOKED_AT)
def test_it_counts_as_long_as_the_change_is_open(store: Store, check: str, fact: str, nights: str) -> None:
    """Whatever evidence is missing on a night: with less of it nothing is less bad."""
    _night(store, fact, _OLD, untold=(check,))
    for night in _NIGHTS[nights]:
        if night is None:
            _silent(store)
        else:
            value, told = night
            _night(store, fact, value, *(_found(check),) * told, untold=() if told else (check,))
    cause = _cause(store, check)
    assert cause.counts and not cause.standing
    assert answers_alike(store, JudgeOptions()) == 1


@pytest.mark.parametrize(("check", "fact"), _LOOKED_AT)
def test_it_stands_where_it_was_so_with_the_value_of_before(store: Store, check: str, fact: str) -> None:
    """Also where that was so only for a while, between two changes."""
    _night(store, fact, _OLD, untold=(check,))
    for value in (_NEW, _OLD, _OTHER):
        _night(store, fact, value, _found(check))
        assert _cause(store, check).standing is (value != _NEW)
    assert answers_alike(store, JudgeOptions()) == 1
