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
_OLD, _NEW = "on", "off"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


def _night(store: Store, fact: str, value: str, *problems: Problem, changes: tuple[Change, ...] = (),
           untold: tuple[str, ...] = ()) -> None:
    head = store.begin("folder", [("h", "g")])
    store.put(head.id, Seen("h", "g", "ok", known={"gpu.count": 8, fact: value}, tunecheck="0.1.0", document=b"{}",
                            problems=problems, changes=changes, untold=untold))
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
