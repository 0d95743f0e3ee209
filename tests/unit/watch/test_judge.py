"""Every state, and everything that looks like a stall and is none: nights of looks, judged in an instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tunecheck.host.nvml_samples import GpuSample
from tunecheck.model.absence import Absence
from tunecheck.serving.accepted import Accepted
from tunecheck.watch.judge import Judge
from tunecheck.watch.model import (
    Code,
    Culprit,
    Engine,
    Kind,
    Limits,
    Look,
    Phase,
    Process,
    Reason,
    Run,
    Seen,
    State,
    Witness,
)
from tunecheck.watch.unit import _PHASES

LIMITS = Limits()
ACTIVE = Run(Phase.RUNS, None, 0, "/system.slice/x.service", 1)
#: As measured on 2 x H200 (limit 700 W): decoding, a collective that nobody ends, idle contexts.
DECODES = tuple(GpuSample(f"0000:0{n}:00.0", 95, 40, 345_000, 700_000, 0, 50) for n in (3, 4))
SPINS = (GpuSample("0000:03:00.0", 100, 0, 125_000, 700_000, 0, 50), GpuSample("0000:04:00.0", 0, 0, 127_000, 700_000))
BOTH_SPIN = tuple(GpuSample(f"0000:0{n}:00.0", 100, 0, 135_000, 700_000, 0, 50) for n in (3, 4))
RESTS = tuple(GpuSample(f"0000:0{n}:00.0", 0, 0, 126_000, 700_000, 0, 40) for n in (3, 4))
SILENT = Engine(absence=Absence.TIMED_OUT)


def unit_is(active: str, restarts: int | None = None) -> Run:
    """What is told of a unit by systemd's word for it; "": no answer."""
    phase, code = _PHASES[active] if active else (Phase.UNREAD, Code.UNIT_UNREADABLE)
    return Run(phase, Reason(code) if code else None, restarts)


class Night:
    """Looks, one a second."""

    def __init__(self, unit: Run | None = ACTIVE) -> None:
        self.judge, self.at, self.moved, self.unit = Judge(LIMITS), 1000.0, 0.0, unit
        self.all: list[Seen] = []

    def go(self, seconds: float, running: int = 1, step: float = 20.0, gpus: Any = DECODES, **more: Any) -> Seen:
        """So long: ``step`` is what the counters grow by in a second."""
        for _ in range(round(seconds)):
            self.at, self.moved = self.at + 1, self.moved + step
            engine = more.get("engine") or Engine(running, 0, self.moved, self.moved)
            look = Look(self.at, engine, gpus, self.unit, **{key: more[key] for key in (
                "events", "conditions", "processes", "ras", "sms", "accepted") if key in more})
            self.all.append(self.judge.judge(look))
        return self.all[-1]

    @property
    def states(self) -> list[State]:
        """Each state once, in the order in which they came."""
        return [seen.state for before, seen in zip([None, *self.all], self.all, strict=False)
                if before is None or before.state is not seen.state]


def _codes(seen: Seen) -> set[Code]:
    return {each.code for each in seen.reasons}


def test_serving_and_idle_are_no_alarm() -> None:
    night = Night()
    night.go(300)
    night.go(8 * 3600 / 100, running=0, step=0, gpus=RESTS)
    night.go(300)
    assert night.states == [State.SERVING, State.IDLE, State.SERVING]


def test_an_idle_night_does_not_count_for_the_first_request() -> None:
    """The clock begins when a request does: eight idle hours are no eight hours without a token."""
    night = Night()
    night.go(5000, running=0, step=0, gpus=RESTS)
    night.go(100, step=0, gpus=DECODES)
    assert night.states == [State.IDLE, State.SERVING]


def test_a_hang_that_is_older_than_the_watch_is_never_called_serving() -> None:
    """Two looks without a step tell nothing yet; 120 s of them are a stall; a step at any time is serving."""
    night = Night()
    night.go(1, step=0)
    seen = night.go(60, step=0)
    assert (seen.state, _codes(seen)) == (State.UNKNOWN, {Code.NO_PROGRESS_YET})
    assert {each.state for each in night.all[1:]} == {State.UNKNOWN}
    assert night.go(1).state is State.SERVING
    assert night.go(60, step=0).state is State.SERVING, "it was seen to work: a long step, until the limit"
    old = Night()
    old.go(200, step=0, gpus=RESTS)
    assert old.states[1:] == [State.UNKNOWN, State.STALLED]     # the first look is not told by itself


@pytest.mark.parametrize(("entered", "accepted", "state"), [
    (995.0, True, State.SERVING), (995.0, False, State.UNKNOWN), (800.0, True, State.UNKNOWN),
    (None, True, State.UNKNOWN), (1500.0, True, State.UNKNOWN)])
def test_a_long_prompt_behind_an_acceptance_is_no_old_hang(entered: float | None, accepted: bool, state: State) -> None:
    """The watch begins when the model is accepted, and the first client may have a long prompt. It has its limit all
    the same."""
    night = Night(replace(ACTIVE, entered=entered))
    found = Accepted("b", "run1", "", "", (), 50.0, None, "m", "chat") if accepted else None
    assert night.go(60, step=0, accepted=found).state is state
    assert night.go(70, step=0, gpus=RESTS, accepted=found).state is State.STALLED


@pytest.mark.parametrize("gpus", [SPINS, BOTH_SPIN], ids=["one rank stopped", "out of step"])
def test_a_collective_that_nobody_ends_is_seen_within_its_limit(gpus: Any) -> None:
    night = Night()
    night.go(60)
    began = night.at
    while night.go(1, step=0, gpus=gpus).state is State.SERVING and night.at < began + 500:
        pass
    assert night.at - began <= LIMITS.spin + 2
    assert _codes(night.all[-1]) == {Code.TOKENS_FROZEN, Code.GPUS_SPINNING}
    assert night.go(1).state is State.SERVING, "a token ends the alarm"


@pytest.mark.parametrize("gpus", [None, RESTS], ids=["nothing known of the GPUs", "GPUs idle"])
def test_frozen_tokens_alone_are_seen_within_the_longer_limit(gpus: Any) -> None:
    night = Night()
    night.go(60)
    began = night.at
    while night.go(1, step=0, gpus=gpus).state is State.SERVING and night.at < began + 500:
        pass
    assert LIMITS.stall <= night.at - began <= LIMITS.stall + 2
    assert _codes(night.all[-1]) == {Code.TOKENS_FROZEN}


def test_a_long_step_of_a_gpu_that_works_is_told_and_no_alarm() -> None:
    night = Night()
    night.go(10)
    seen = night.go(4 * LIMITS.stall, step=0, gpus=DECODES)
    assert set(night.states) == {State.SERVING} and _codes(seen) == {Code.LONG_STEP}
    assert night.go(LIMITS.stall + 5, step=0, gpus=DECODES).state is State.STALLED, "but not for ever"


def test_a_rank_that_compiles_while_the_others_spin_has_its_time() -> None:
    night = Night()
    night.go(10)
    night.go(LIMITS.spin - 3, step=0, gpus=SPINS)
    night.go(10)
    assert night.states == [State.SERVING]


def test_a_prompt_that_moves_only_the_prompt_counter_is_progress() -> None:
    night = Night()
    night.go(500, step=0.5)
    assert night.states == [State.SERVING]


def test_a_counter_that_began_anew_is_a_restart_and_no_stall() -> None:
    night = Night()
    night.go(100)
    night.moved = 0.0
    night.go(100)
    assert night.states == [State.SERVING]


def test_metrics_that_fall_silent() -> None:
    night = Night()
    assert night.judge.due is None
    night.go(50)
    began = night.at
    night.go(LIMITS.silent - 1, engine=SILENT)
    assert night.states == [State.SERVING] and night.judge.due == began + LIMITS.silent
    seen = night.go(3, engine=SILENT)
    assert seen.state is State.STALLED and _codes(seen) == {Code.METRICS_SILENT}
    assert night.at - began <= LIMITS.silent + 2


def test_an_engine_that_loads_has_its_time_and_not_for_ever() -> None:
    night = Night()
    night.go(3000, engine=SILENT)
    assert night.states == [State.LOADING] and _codes(night.all[-1]) == {Code.NOT_ANSWERING_YET}
    assert night.go(700, engine=SILENT).state is State.STALLED


def test_an_engine_that_never_answered_and_that_no_unit_starts_is_not_known() -> None:
    """Otherwise a dead engine would be well for whoever looks once."""
    night = Night(unit=None)
    assert night.go(3, engine=SILENT).state is State.UNKNOWN


@pytest.mark.parametrize(("active", "state"), [
    ("activating", State.LOADING), ("inactive", State.STOPPED), ("failed", State.STOPPED), ("deactivating",
                                                                                          State.STOPPED)])
def test_what_systemd_says_of_the_unit(active: str, state: State) -> None:
    night = Night(unit_is(active))
    assert night.go(3, engine=SILENT).state is state


def test_a_unit_that_systemd_does_not_tell_of_changes_nothing() -> None:
    night = Night(unit_is(""))
    seen = night.go(10)
    assert seen.state is State.SERVING and _codes(seen) == {Code.UNIT_UNREADABLE}


@pytest.mark.parametrize("code", [Code.NO_METRICS, Code.METRICS_UNREADABLE])
def test_metrics_that_tell_nothing_are_not_known(code: Code) -> None:
    night = Night()
    night.go(50)
    assert night.go(500, engine=Engine(absence=Absence.NOT_UNDERSTOOD, code=code)).state is State.UNKNOWN


def test_a_debugger_is_no_alarm_and_a_stopped_process_is_the_culprit() -> None:
    night = Night()
    night.go(10)
    seen = night.go(300, step=0, gpus=SPINS, processes=(Process(7, "VLLM::Worker_TP1", "t"),))
    assert set(night.states) == {State.SERVING} and Code.TRACED in _codes(seen)
    seen = night.go(1, step=0, gpus=SPINS, processes=(Process(6, "VLLM::Worker_TP0", "D"),
                                                      Process(7, "VLLM::Worker_TP1", "T")))
    assert seen.state is State.STALLED and seen.culprit == Culprit(
        7, "VLLM::Worker_TP1", "T", witnesses=(Witness.PROCESS,), kinds=(Kind.STOPPED,))


def test_processes_are_asked_for_only_when_a_stall_is_near() -> None:
    night = Night()
    night.go(100)
    assert not night.judge.near
    night.go(LIMITS.spin / 2 + 1, step=0)
    assert night.judge.near


def test_a_watch_that_did_not_run_itself_begins_anew() -> None:
    """Stopped with its machine, or by a signal: what was in between nobody saw."""
    night = Night()
    night.go(50)
    night.at += 5000
    seen = night.go(1, step=0, gpus=SPINS)
    assert seen.state is State.SERVING and Code.WATCH_PAUSED in _codes(seen)
    assert night.go(LIMITS.spin + 1, step=0, gpus=SPINS).state is State.STALLED


def test_looks_that_wait_in_vain_are_no_pause() -> None:
    """A page, a unit and a disk that do not answer cost their deadlines each: the silence counts all the same."""
    night = Night()
    night.go(50)
    for _ in range(4):
        night.at += 14
        seen = night.judge.judge(Look(night.at, SILENT, SPINS, ACTIVE, took=13.5))
    assert seen.state is State.STALLED and Code.WATCH_PAUSED not in _codes(seen)


@pytest.mark.parametrize("code", [Code.XID, Code.SXID, Code.OOM_KILL, Code.AER_STORM, Code.HUNG_TASK])
def test_an_event_degrades_for_a_while(code: Code) -> None:
    night = Night()
    night.go(10)
    assert night.go(1, events=(Reason(code, "0000:03:00.0", (("xid", 1.0), ("sxid", 1.0), ("errors", 1.0))),)
                    ).state is State.DEGRADED
    assert night.go(LIMITS.hold - 1).state is State.DEGRADED
    assert night.go(3).state is State.SERVING


@pytest.mark.parametrize("code", [Code.LINK_NARROWER, Code.DISK_LOW, Code.NVML_SILENT])
def test_what_stands_degrades_as_long_as_it_stands(code: Code) -> None:
    night = Night()
    night.go(10, conditions=(Reason(code, "x", (("lanes", 8.0), ("before", 16.0), ("free_bytes", 1.0))),))
    assert night.states == [State.DEGRADED]
    assert night.go(1).state is State.SERVING


@pytest.mark.parametrize("code", [Code.KMSG_OVERRUN, Code.KMSG_UNREADABLE])
def test_what_cannot_be_seen_is_told_and_no_alarm(code: Code) -> None:
    night = Night()
    seen = night.go(10, conditions=(Reason(code),))
    assert seen.state is State.SERVING and _codes(seen) == {code}


def test_a_gpu_that_is_gone_is_lost_whatever_the_engine_says() -> None:
    night = Night()
    night.go(10)
    gone = (DECODES[0], replace(DECODES[1], error="GPU_IS_LOST"))
    seen = night.go(1, gpus=gone)
    assert seen.state is State.LOST and Reason(Code.GPU_GONE, "0000:04:00.0") in seen.reasons


def test_a_brake_counts_when_it_stays() -> None:
    night = Night()
    braked = (replace(DECODES[0], throttle=0x8), DECODES[1])
    assert night.go(5, gpus=braked).state is State.SERVING
    assert night.go(10, gpus=braked).state is State.DEGRADED
    # A power cap and idle clocks (bits 0x4 and 0x1) are how boards work.
    assert Night().go(60, gpus=(replace(DECODES[0], throttle=0x5),)).state is State.SERVING


def test_a_count_of_restarts_that_is_set_back_is_no_new_start() -> None:
    """`systemctl reset-failed` beside an engine that hangs: it is no engine that loads."""
    night = Night(replace(ACTIVE, restarts=3))
    night.go(5)
    night.unit = ACTIVE
    seen = night.go(60, engine=SILENT)
    assert seen.state is State.STALLED and Code.METRICS_SILENT in _codes(seen)


def test_a_unit_that_systemd_started_again_is_told() -> None:
    night = Night()
    night.go(5)
    night.unit = replace(ACTIVE, restarts=1)
    seen = night.go(1)
    assert Reason(Code.UNIT_RESTARTED, numbers=(("restarts", 1.0),)) in seen.reasons and seen.state is State.SERVING


def _somebody_elses() -> Iterator[tuple[str, Any]]:
    yield "another job on another GPU", (*RESTS, GpuSample("0000:05:00.0", 100, 60, 600_000, 700_000))
    yield "another job spins", (RESTS[0], BOTH_SPIN[1])


@pytest.mark.parametrize(("name", "gpus"), list(_somebody_elses()), ids=[name for name, _ in _somebody_elses()])
def test_other_peoples_jobs_are_no_alarm_while_the_engine_idles(name: str, gpus: Any) -> None:
    night = Night()
    night.go(2000, running=0, step=0, gpus=gpus)
    assert night.states == [State.IDLE]
