"""Nights in which a letter says what each host of one group has in one fact."""

from __future__ import annotations

from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store

__all__ = ["FACT", "WHY", "night"]

FACT = "kernel.cmdline.mitigations"
#: Why it cannot be read.
WHY = "only root reads it"


def night(store: Store, values: str, family: str = FACT, version: str = "0.1.0") -> FleetReport:
    """A letter for each host: "a", "b", absent ("-"), cannot be read ("?", of the fact or its ``family``) or silent
    (" ")."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    started = store.begin("inventory", [(f"n{number}", "g") for number in range(len(values))])
    for number, value in enumerate(values):
        if value == " ":
            store.put(started.id, Seen(f"n{number}", "g", "unreachable", "no route to host"))
            continue
        known = {} if value in "-?" else {FACT: value}
        store.put(started.id, Seen(f"n{number}", "g", "partial" if value == "?" else "ok", key=f"key {number}",
                                   hardware="hw", document=b"{}", known={"sysctl.x": "1", **known},
                                   unknown={family: WHY} if value == "?" else {}, tunecheck=version))
    store.finish(started.id)
    return report(store, None, JudgeOptions(now=store.clock()))
