"""A value that was approved is the baseline: who leaves it drifts, and who comes back to it does not; the same over any
audits that a report is compared with, for facts of which the group has a majority, and those that are one host's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Change, Seen
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.store import Store, open_store

_DAY = 86_400.0
#: One that a group has in common, and one that every host has for itself.
_FACTS = ("driver.loaded", "gpu.serials")
_OWN = "box0"
_OLD, _APPROVED, _OTHER = "595.58.03", "595.71.05", "600.10.02"


class _Nights:
    def __init__(self, store: Store) -> None:
        self.store, self.now, self.approvals = store, 1_800_000_000.0, []

    def night(self, fact: str, value: str | None, ours: bool = False) -> int:
        """An audit in which the one host has the value, and the others have what they always had; None: it is
        silent."""
        names = [f"box{number}" for number in range(8)]
        head = self.store.begin("inventory", [(name, "g") for name in names])
        for number, name in enumerate(names):
            plain = _OLD if fact == "driver.loaded" else f"{_OLD}-{number}"
            if name == _OWN and value is None:
                self.store.put(head.id, Seen(name, "g", "unreachable", "no route"))
                continue
            told = plain if name != _OWN else value or ""
            self.store.put(head.id, Seen(name, "g", "ok", key=name, known={fact: told}, document=b"{}", changes=(
                Change(f"run{head.id}", self.now - 60),) if ours and name == _OWN else ()))
        self.store.finish(head.id)
        self.now += _DAY
        return head.id

    def said(self, audit: int, since: int | None = None) -> list[Cause]:
        options = JudgeOptions(baseline="previous" if since is None else f"audit:{since}")
        alone = report(self.store, audit, options, about=_OWN).causes
        whole = tuple(each for each in report(self.store, audit, options).causes if _OWN in each.hosts)
        assert [each.id for each in alone] == [each.id for each in whole], "a host alone is told as all are"
        return [*whole]

    def approve(self) -> None:
        seen = report(self.store)
        [open_one] = [each for each in seen.causes if each.counts]
        decide(self.store, seen, "approve", [open_one.id], author="ann", note="a trial")


@pytest.fixture(name="nights")
def _nights(tmp_path: Path) -> Iterator[_Nights]:
    made: _Nights
    with open_store(str(tmp_path / "fleet.db"), catalogue=1, clock=lambda: made.now) as store:
        made = _Nights(store)
        yield made


def _kinds(causes: list[Cause]) -> list[str]:
    return sorted(kind(each) for each in causes)


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("away", [_OLD, _OTHER])
@pytest.mark.parametrize("fact", _FACTS)
def test_leaving_the_approved_value_is_drift_and_coming_back_is_none(nights: _Nights, fact: str, away: str,
                                                                     silent: bool) -> None:
    away = away if fact == "driver.loaded" or away == _OTHER else f"{away}-0"
    first = nights.night(fact, _OLD if fact == "driver.loaded" else f"{_OLD}-0")
    approved = nights.night(fact, _APPROVED)
    nights.approve()
    assert not [each for each in nights.said(approved) if each.counts]

    if silent:      # nothing is heard of it in between
        nights.night(fact, None)
    left = nights.night(fact, away)
    [gone] = [each for each in nights.said(left) if each.counts]
    assert (kind(gone), gone.value) == ("new", away)
    assert silent or gone.before == _APPROVED
    for since in (first, approved):
        [told] = [each for each in nights.said(left, since) if each.counts]
        assert (kind(told), told.value, told.id) == ("new", away, gone.id), f"compared with #{since}"
    later = nights.night(fact, away)
    [still] = [each for each in nights.said(later) if each.counts]
    assert (kind(still), still.id) == ("known", gone.id)

    back = nights.night(fact, _APPROVED)
    found = nights.said(back)
    assert not [each for each in found if each.counts]
    assert [each.id for each in found if each.state == "resolved"] == [gone.id], "it ends under its id"
    for since in (first, approved, left):
        assert not [each for each in nights.said(back, since) if each.counts], f"compared with #{since}"
    assert not [each for each in nights.said(nights.night(fact, _APPROVED)) if each.counts]


def test_that_a_value_came_back_is_said_of_each_of_its_hosts(nights: _Nights) -> None:
    first = nights.night("driver.loaded", _OLD)
    nights.night("driver.loaded", _APPROVED)
    last = nights.night("driver.loaded", _OLD)
    options = JudgeOptions(baseline=f"audit:{first}")
    said = f"driver.loaded changed and came back since #{first} on {_OWN}"
    for host, fact, there in ((None, None, True), (_OWN, None, True), (None, "driver.loaded", True),
                              (_OWN, "driver.loaded", True), ("box1", None, False), (None, "gpu.name", False)):
        told = focus(report(nights.store, last, options, about=host), host, fact)
        assert (said in told.notes) == there, (host, fact)


@pytest.mark.parametrize("fact", _FACTS)
def test_an_approval_that_was_taken_back_is_no_baseline(nights: _Nights, fact: str) -> None:
    old = _OLD if fact == "driver.loaded" else f"{_OLD}-0"
    nights.night(fact, old)
    nights.night(fact, _APPROVED)
    nights.approve()
    left = nights.night(fact, old)
    nights.store.end_decision(nights.store.decisions()[-1].id)
    assert not [each for each in nights.said(left) if each.counts], "it is as it was before"
    back = nights.night(fact, _APPROVED)
    assert _kinds([each for each in nights.said(back) if each.counts]) == ["new"]


@pytest.mark.parametrize("fact", _FACTS)
def test_what_our_own_roles_put_in_its_place_is_no_drift(nights: _Nights, fact: str) -> None:
    old = _OLD if fact == "driver.loaded" else f"{_OLD}-0"
    nights.night(fact, old)
    nights.night(fact, _APPROVED)
    nights.approve()
    assert not [each for each in nights.said(nights.night(fact, old, ours=True)) if each.counts]
    assert not [each for each in nights.said(nights.night(fact, old)) if each.counts]


def test_an_approved_value_is_kept_as_long_as_its_approval(nights: _Nights) -> None:
    nights.night("driver.loaded", _OLD)
    nights.night("driver.loaded", _APPROVED)
    nights.approve()
    nights.night("driver.loaded", _OLD)
    later = nights.night("driver.loaded", _OLD)
    before = [(each.id, kind(each)) for each in nights.said(later) if each.counts]
    assert nights.store.prune(nights.now - 2.5 * _DAY).first_kept == later - 1
    assert [(each.id, kind(each)) for each in nights.said(later) if each.counts] == before and before
