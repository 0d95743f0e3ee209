"""The next step never approves the values of an entry in which a check fails: that leaves the failure as it is. It
leads to what ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.nights import STATES, Fleet
from tests.unit.fleet.store.stores import Clock, one

from tunecheck_fleet.entries import entries
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.outputs.next_step import next_step
from tunecheck_fleet.store import Store, open_store
from tunecheck_fleet.whole_causes import shown

_APPROVED = re.compile(r"approve ([0-9a-f]{8})")


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


@pytest.mark.parametrize("mark", sorted({*STATES, "old bios", "memory"}))
def test_no_entry_with_a_failing_check_is_to_be_approved(store: Store, mark: str) -> None:
    assert isinstance(store.clock, Clock)
    fleet = Fleet(hosts=10)
    host = min(name for name in fleet.boxes if not name.startswith("g99"))
    fleet.mark(mark, 2, [host])
    steps = set()
    for night in range(1, 4):
        store.clock.hours(24)
        one(store, *fleet.night(night))
        for since in (None, 1) if night > 1 else (None,):
            options = JudgeOptions(now=store.clock(), since=since)
            for found in (report(store, None, options), focus(report(store, None, options, host), host, None)):
                failing = {entry.lead.id: [each.fact for each in entry.more if each.counts and each.outcome == "fail"]
                           for entry in entries(found.causes)}
                for verbose in (False, True):
                    step, _ = next_step(shown(found, each=verbose), found, verbose)
                    for name in _APPROVED.findall(step):
                        assert not failing[name], (step, failing[name])
                    steps.add(step)
    if mark == "kernel":
        assert any("acs-redirect" in step for step in steps), steps
