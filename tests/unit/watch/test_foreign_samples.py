"""Samples of a driver that answers with garbage, and floods of messages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.watch.test_blame import RANKS
from tests.unit.watch.test_judge import BOTH_SPIN, DECODES, LIMITS, Night, _codes

from tunecheck.host.nvml_samples import GpuSample
from tunecheck.watch.model import Code, Reason, State


@pytest.mark.parametrize("bits", [2**32 - 1, 2**64 - 1])
def test_clock_bits_that_are_all_ones_are_no_brake(bits: int) -> None:
    night = Night()
    assert night.go(60, gpus=tuple(replace(each, throttle=bits) for each in DECODES)).state is State.SERVING


def test_two_gpus_that_brake_in_turn_for_a_few_seconds_are_no_alarm() -> None:
    night = Night()
    for turn in range(20):
        night.go(5, gpus=tuple(replace(each, throttle=0x8 if number == turn % 2 else 0)
                               for number, each in enumerate(DECODES)))
    assert night.states == [State.SERVING]

def test_a_flood_of_one_kind_hides_no_other() -> None:
    night = Night()
    night.go(1, events=tuple(Reason(Code.OOM_KILL, f"sh {pid}") for pid in range(500)))
    seen = night.go(1, events=(Reason(Code.XID, "0000:03:00.0", (("xid", 119.0),)),))
    assert Code.XID in _codes(seen) and len(seen.reasons) < 200
    night.go(LIMITS.hold + 5)
    assert not night.all[-1].reasons


def test_an_event_that_comes_again_in_a_flood_is_held_from_then_on() -> None:
    night = Night()
    for _ in range(5):
        night.go(1, events=tuple(Reason(Code.HUNG_TASK, f"x {pid}") for pid in range(300)))
        night.go(LIMITS.hold / 2)
    assert Code.HUNG_TASK in _codes(night.all[-1])


@pytest.mark.parametrize("later", [0, 60])
def test_a_gpu_of_another_job_is_not_to_blame(later: int) -> None:
    """It worked while the engine's counters moved, so it was learnt as the engine's; then it works on, or rests."""
    night, other = Night(), GpuSample("0000:05:00.0", 100, 60, 600_000, 700_000)
    night.go(60, gpus=(*DECODES, other))
    there = replace(other, gpu=later, memory=later, power_mw=400_000 if later else 100_000)
    seen = night.go(LIMITS.stall + 20, step=0, gpus=(*BOTH_SPIN, there), processes=RANKS,
                    sms=(*((each.bdf, 4.0) for each in BOTH_SPIN), ("0000:05:00.0", 100.0)))
    assert seen.state is State.STALLED and seen.culprit is None and seen.claims == ()
