"""The checks of the trials never raise, whatever was measured: senseless figures, foreign GPUs, half-empty entries."""

from __future__ import annotations

import dataclasses
import random

import pytest
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.measurements import measured

from tunecheck.facts.snapshot import gather
from tunecheck.model.measurement import Measured
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_ODD = (0.0, -1.0, float("nan"), float("inf"), 1e300, 1e-300)


@pytest.mark.parametrize("machine", ["one", "clear", "switch", "direct", "numa", "flat", "four", "eight"])
@pytest.mark.parametrize("seed", range(12))
def test_senseless_measurements(machine: str, seed: int) -> None:
    chance = random.Random(f"{machine} {seed}")
    snapshot = gather(build({"machine": machine}), None, False)
    found = measured({}, chance.choice([2, 3, 4, 8]))       # also GPUs that the tree does not have
    figures = [dataclasses.replace(each, value=chance.choice(_ODD), p99=chance.choice(_ODD), median=chance.choice(_ODD),
                                   more={}, size=chance.choice([each.size, None]))
               if chance.random() < 0.3 else each for each in found.figures if chance.random() < 0.9]
    notes = chance.choice([{}, {"no_access": [[0, 99]]}, {"nccl version": "2.28"}, {"nccl version": -1}])
    failures = chance.choice([{}, {"allreduce": "no"}, {"allreduce x ranks": "no"}, {"p2p": ""}, {"odd": "thing"}])
    broken = Measured(tuple(figures), (), (), failures, notes)
    for verb in ("p2p", "allreduce"):
        for case in (Case(snapshot, spec_of({}), measured=broken), Case(snapshot, None, measured=Measured()),
                     Case(snapshot, None)):
            found_here = judge(case, verb)
            assert {finding.outcome for finding in found_here} <= {"pass", "warn", "fail", "skip", "unknown"}
            assert all(finding.message for finding in found_here)


def test_a_box_where_nothing_was_measured_passes_nothing() -> None:
    snapshot = gather(build({"machine": "four"}), None, False)
    for verb in ("p2p", "allreduce"):
        assert "pass" not in {finding.outcome for finding in judge(Case(snapshot, None, measured=Measured()), verb)}
