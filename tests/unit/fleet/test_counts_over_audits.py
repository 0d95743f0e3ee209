"""Two reports of one audit may count differently, because they look back to different audits: the last line says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.reports import cause, report
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions
from tunecheck_fleet.judge import report as judged
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.counts import verdict_line
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, values: str) -> None:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    started = store.begin("inventory", [(f"n{number}", "g") for number in range(len(values))])
    for number, value in enumerate(values):
        store.put(started.id, Seen(f"n{number}", "g", "ok", key=f"key {number}", hardware="hw", document=b"{}",
                                   known={"sysctl.x": value}, tunecheck="0.1.0"))
    store.finish(started.id)


def _line(store: Store, **options: int) -> str:
    return verdict_line(judged(store, None, JudgeOptions(now=store.clock(), **options)))


def test_the_last_line_says_over_which_audits_it_counts(store: Store) -> None:
    for values in ("aabbbbb", "babbbbb", "babbbbb"):    # n0 joins what then is the majority
        _night(store, values)
    assert _line(store) == "DRIFT: 1 cause on 1 host"
    assert _line(store, since=1) == "DRIFT: 2 causes on 2 hosts, over all audits since #1"
    for _ in range(2):
        _night(store, "bbbbbbb")
    assert _line(store) == "CLEAN: no drift on the 7 hosts that answered"
    assert _line(store, since=4) == "CLEAN: no drift on the 7 hosts that answered, over all audits since #4"


def test_what_happened_together_is_one_cause_of_the_last_line() -> None:
    several: FleetReport = report(causes=tuple(cause(fact=fact) for fact in (
        "kernel.cmdline.iommu", "kernel.cmdline.pci", "boot.configured")))
    assert verdict_line(several) == "DRIFT: 1 cause on 3 hosts"
    one = report(causes=(cause(),))
    assert verdict_line(one) == "DRIFT: 1 cause on 3 hosts"
