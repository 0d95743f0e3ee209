"""Errors of a GPU's memory while it serves: what begins under the watch is told, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.watch.test_judge import DECODES, Night, _codes

from tunecheck.watch.memory_errors import STORM, WITHIN
from tunecheck.watch.model import Code, State


def gpus(**errors: Any) -> tuple[Any, ...]:
    return (replace(DECODES[0], **errors), DECODES[1])


def told(night: Night, code: Code) -> list[tuple[str, float]]:
    return [(each.subject, dict(each.numbers)["errors"]) for each in night.all[-1].reasons if each.code is code]


def test_what_could_not_be_corrected_is_told_until_the_gpu_is_reset() -> None:
    night = Night()
    night.go(20, gpus=gpus(corrected=0, uncorrected=0))
    seen = night.go(1, gpus=gpus(corrected=0, uncorrected=2))
    assert seen.state is State.DEGRADED and told(night, Code.ECC_UNCORRECTED) == [(DECODES[0].bdf, 2.0)]
    night.go(5000, gpus=gpus(corrected=0, uncorrected=2))
    assert told(night, Code.ECC_UNCORRECTED) == [(DECODES[0].bdf, 2.0)]
    night.go(30, gpus=gpus())       # the driver says nothing for a while
    assert Code.ECC_UNCORRECTED in _codes(night.all[-1])
    assert night.go(1, gpus=gpus(corrected=0, uncorrected=0)).state is State.SERVING
    night.go(1, gpus=gpus(corrected=0, uncorrected=1))
    assert told(night, Code.ECC_UNCORRECTED) == [(DECODES[0].bdf, 1.0)]


def test_what_was_counted_before_the_watch_is_no_news() -> None:
    night = Night()
    assert night.go(60, gpus=gpus(corrected=50_000, uncorrected=3)).state is State.SERVING
    assert night.states == [State.SERVING]


def test_many_corrected_errors_within_an_hour_are_a_storm_and_few_are_none() -> None:
    night = Night()
    for count in range(0, STORM, 10):
        assert night.go(10, gpus=gpus(corrected=count)).state is State.SERVING
    seen = night.go(1, gpus=gpus(corrected=STORM))
    assert seen.state is State.DEGRADED and told(night, Code.ECC_STORM) == [(DECODES[0].bdf, float(STORM))]
    night.go(WITHIN + 5, gpus=gpus(corrected=STORM))
    assert Code.ECC_STORM not in _codes(night.all[-1])


def test_a_slow_trickle_is_no_storm() -> None:
    night = Night()
    for count in range(0, 3 * STORM, 5):
        night.go(WITHIN / 15, gpus=gpus(corrected=count))
    assert night.states == [State.SERVING]


@pytest.mark.parametrize("count", [-1, 2**63, 2**64 - 1])
def test_a_counter_that_nothing_counts_to_is_no_error(count: int) -> None:
    night = Night()
    night.go(5, gpus=gpus(corrected=0, uncorrected=0))
    assert night.go(30, gpus=gpus(corrected=count, uncorrected=count)).state is State.SERVING


def test_a_counter_that_begins_anew_is_no_storm() -> None:
    night = Night()
    night.go(5, gpus=gpus(corrected=90, uncorrected=0))
    night.go(5, gpus=gpus(corrected=0, uncorrected=0))
    assert night.go(30, gpus=gpus(corrected=95, uncorrected=0)).state is State.SERVING
