"""What supervisors say, judged: pauses, ends and new beginnings of processes and containers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.watch.test_judge import RESTS, SILENT, Night, _codes

from tunecheck.watch.codes import Code, Reason
from tunecheck.watch.model import State
from tunecheck.watch.run import Phase, Run

RUNS = Run(Phase.RUNS, None, 0, "", 7, "100", invocation="a", again=Code.CONTAINER_RESTARTED)
PAUSED = replace(RUNS, phase=Phase.PAUSED, reason=Reason(Code.CONTAINER_PAUSED, "x"))


@pytest.mark.parametrize("page", [SILENT, None], ids=["nobody answers", "the page answers on"])
def test_a_paused_engine_serves_nobody_and_the_pause_counts_for_nothing(page: object) -> None:
    night = Night(RUNS)
    night.go(60)
    night.unit = PAUSED
    seen = night.go(3600, step=0, engine=page, gpus=RESTS)
    assert (seen.state, _codes(seen)) == (State.STOPPED, {Code.CONTAINER_PAUSED})
    night.unit = RUNS
    night.go(20, step=0, engine=page, gpus=RESTS)       # it needs a moment
    night.go(20)
    assert night.states == [State.SERVING, State.STOPPED, State.SERVING]


def test_an_engine_that_is_paused_when_the_watch_begins() -> None:
    night = Night(PAUSED)
    night.go(600, engine=SILENT, gpus=RESTS)
    night.unit = RUNS
    night.go(20)
    assert night.states == [State.STOPPED, State.SERVING]


@pytest.mark.parametrize(("phase", "code", "state"), [
    (Phase.ENDED, Code.PROCESS_ENDED, State.STOPPED), (Phase.ENDED, Code.CONTAINER_FAILED, State.STOPPED),
    (Phase.STARTING, Code.CONTAINER_STARTING, State.LOADING), (Phase.MISSING, Code.UNIT_UNKNOWN, State.UNKNOWN)])
def test_each_phase_has_its_state_and_its_own_reason(phase: Phase, code: Code, state: State) -> None:
    night = Night(RUNS)
    night.go(60)
    night.unit = Run(phase, Reason(code))
    seen = night.go(10)
    assert (seen.state, _codes(seen)) == (state, {code})


def test_a_supervisor_that_does_not_answer_changes_nothing() -> None:
    night = Night(RUNS)
    night.go(60)
    night.unit = Run(Phase.UNREAD, Reason(Code.CONTAINER_UNREADABLE), 0)
    seen = night.go(600)
    assert (seen.state, _codes(seen)) == (State.SERVING, {Code.CONTAINER_UNREADABLE})


def test_one_that_was_started_again_has_its_time_to_load() -> None:
    night = Night(RUNS)
    night.go(60)
    night.unit = replace(RUNS, restarts=1, main=8, invocation="b")
    seen = night.go(200, engine=SILENT, gpus=RESTS)
    assert seen.state is State.LOADING and Code.CONTAINER_RESTARTED in _codes(seen)
    assert State.STALLED not in night.states
