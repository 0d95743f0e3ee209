"""A host that was renamed and has its name back is the machine that it was: nothing is open on it for that."""

from __future__ import annotations

from pathlib import Path

from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store, open_store


def _night(store: Store, names: str) -> FleetReport:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("inventory", [(name, "g") for name in names])
    for number, name in enumerate(names):
        store.put(head.id, Seen(name, "g", "ok", key=f"key {number}", hardware="hw", document=b"{}",
                                known={"sysctl.x": "1"}, tunecheck="0.1.0"))
    store.finish(head.id)
    return report(store, None, JudgeOptions(now=store.clock()))


def test_nothing_is_open_on_a_host_that_has_its_name_back(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        _night(store, "abc")
        assert not _night(store, "xbc").causes
        for _ in range(2):
            assert not _night(store, "abc").causes
            answers_alike(store)
