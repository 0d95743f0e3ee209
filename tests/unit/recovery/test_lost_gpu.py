"""A GPU that is lost beside a served engine, and one that comes back: the state, who is called, what starts again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.recovery.test_act import UNIT, Box1, _at_once, asked, box, moved, url, way
from tests.unit.watch.test_canary import EVERY
from tests.unit.watch.test_canary import Night as Asked
from tests.unit.watch.test_judge import ACTIVE, DECODES, RESTS, SPINS, Night

from tunecheck.recovery.act import recover
from tunecheck.recovery.model import Step, Why
from tunecheck.spec.frozen import Watch
from tunecheck.watch import ask, request
from tunecheck.watch.ask import Asker
from tunecheck.watch.model import Code, Engine, Reason, Seen, State
from tunecheck.watch.request import Request, drained
from tunecheck.watch.timeline import Timeline

__all__ = ["_at_once", "url"]

GONE = (DECODES[0], replace(DECODES[1], error="GPU_IS_LOST"))
LOST, FROZEN = Reason(Code.GPU_GONE, "0000:04:00.0"), Reason(Code.TOKENS_FROZEN)


def codes(seen: Seen) -> set[Code]:
    return {each.code for each in seen.reasons}


# ---- state -----------------------------------------------------------------------------------------------------------

def test_a_gpu_that_comes_back_is_believed_with_the_next_token() -> None:
    night = Night()
    night.go(60)
    assert night.go(30, gpus=GONE).state is State.LOST
    seen = night.go(20, running=0, step=0, gpus=RESTS)
    assert (seen.state, codes(seen)) == (State.LOST, {Code.GPU_RETURNED}), "no token since"
    assert night.go(3).state is State.SERVING
    assert night.go(20, running=0, step=0, gpus=RESTS).state is State.IDLE


def test_a_new_start_of_the_unit_ends_it() -> None:
    night = Night()
    night.go(60)
    night.go(30, gpus=GONE)
    assert night.go(5, running=0, step=0, gpus=RESTS).state is State.LOST
    night.unit = replace(ACTIVE, main=77)
    assert night.go(5, running=0, step=0, gpus=RESTS).state is State.IDLE


def test_an_engine_that_hangs_with_its_gpu_is_stalled_below_it_and_after_it() -> None:
    night = Night()
    night.go(60)
    spins = (SPINS[0], replace(SPINS[1], error="GPU_IS_LOST"))
    seen = night.go(40, step=0, gpus=spins)
    assert seen.state is State.LOST and {Code.GPU_GONE, Code.TOKENS_FROZEN} <= codes(seen)
    seen = night.go(10, step=0, gpus=SPINS)
    assert {Code.GPU_RETURNED, Code.TOKENS_FROZEN} <= codes(seen)


def test_an_idle_engine_is_asked_at_once_when_its_gpu_is_back() -> None:
    night = Asked()
    night.go(60, running=1, step=5)
    night.go(20, gpus=GONE)
    assert night.asked == []
    night.go(20)
    assert len(night.asked) == 1 and night.all[-1].state is State.IDLE, "its answer moved the counters"
    assert night.at - night.asked[0] < EVERY / 10


def test_one_that_comes_and_goes_is_lost_each_time() -> None:
    night = Night()
    night.go(60)
    for _ in range(5):
        assert night.go(5, running=0, step=0, gpus=GONE).state is State.LOST
        assert night.go(5, running=0, step=0, gpus=RESTS).state is State.LOST
    assert night.states == [State.SERVING, State.LOST]


# ---- who is asked ----------------------------------------------------------------------------------------------------

class Hour:
    """An asker whose hour passes when it is told to."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.now, self.host = str(folder / "stall.json"), 1e6, Box1()
        monkeypatch.setattr(ask.time, "monotonic", lambda: self.now)
        self.asker = Asker(self.host, UNIT, "http://127.0.0.1:1", "boot", print, self.path)   # type: ignore[arg-type]

    def look(self, state: State, *reasons: Reason, after: float = 1.0) -> Request | None:
        """What was left by this look; the recovery takes it."""
        self.now += after
        document = {"reasons": [{"code": each.code.value} for each in reasons]}
        self.asker.look(Seen(state, self.now, reasons, engine=Engine(1, 0, 5.0)), document, Timeline())
        left = request.read(self.path)
        Path(self.path).unlink(missing_ok=True)
        return left


def test_a_lost_gpu_is_handed_on_once_and_the_stall_after_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                  ) -> None:
    hour = Hour(tmp_path, monkeypatch)
    first = hour.look(State.LOST, LOST)
    assert first is not None and first.codes == ("gpu-gone",)
    assert hour.look(State.LOST, LOST) is None
    second = hour.look(State.LOST, FROZEN, LOST)
    assert second is not None and "tokens-frozen" in second.codes and second.incident != first.incident
    assert [hour.look(State.LOST, FROZEN, LOST), hour.look(State.LOST, LOST)] == [None, None]
    assert hour.host.asked == ["start", "start"]


def test_a_stall_that_turns_out_to_be_a_lost_gpu_is_one_incident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                 ) -> None:
    hour = Hour(tmp_path, monkeypatch)
    assert hour.look(State.STALLED, FROZEN) is not None
    assert [hour.look(State.LOST, FROZEN, LOST), hour.look(State.STALLED, FROZEN)] == [None, None]


def test_a_gpu_that_comes_and_goes_calls_once_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = Hour(tmp_path, monkeypatch)
    left = [hour.look(state, *([LOST] if state is State.LOST else []), after=60)
            for _ in range(60) for state in (State.LOST, State.SERVING)]
    assert sum(each is not None for each in left) == 2
    assert hour.look(State.STALLED, FROZEN) is not None, "a stall does not wait for the hour"


# ---- what is done ----------------------------------------------------------------------------------------------------

def lost(name: str = "a", *more: str, url: str = "http://127.0.0.1:1", seen: dict[str, float] | None = None) -> Request:
    return replace(asked(name, url, seen), document={"reasons": [{"code": code} for code in ("gpu-gone", *more)]})


def test_an_engine_that_serves_beside_a_lost_gpu_is_left_and_a_person_is_called(tmp_path: Path, url: str) -> None:
    before = {name: value - 1 for name, value in moved(url).items()}
    host = Box1()
    found = box(host, tmp_path)
    ended = recover(found, lost(url=url, seen=before))
    assert ended is not None and (ended.step, ended.why) == (Step.REPORTED, Why.GPU_LOST), "moved-again calls nobody"
    assert host.asked == [] and way(found) == [Step.NOTICED, Step.EVIDENCE, Step.REPORTED]
    assert (tmp_path / "a/stall.json").exists()


def test_with_drain_it_is_taken_out(tmp_path: Path) -> None:
    ended = recover(box(Box1(), tmp_path, Watch("drain")), lost())
    out = drained(str(tmp_path / "drained.json"))
    assert ended is not None and ended.step is Step.DRAINED and out is not None and out.invocation == "run1"


def test_one_that_hangs_with_it_is_stopped_and_stays_down_until_the_gate_opens(tmp_path: Path) -> None:
    """The GPU returns while it is down: nothing starts by itself. A start by hand is proven and accepted."""
    host = Box1(starts="failed")
    found = box(host, tmp_path)
    ended = recover(found, lost("a", "tokens-frozen"))
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.NOT_STARTED)
    assert host.asked == ["stop", "void", "reset-failed", "start"], "earlier measurements are void"
    host.starts = "active"
    assert recover(found, None) is None and recover(found, lost("a", "tokens-frozen")) is None
    assert host.asked.count("start") == 1 and host.active == "failed"


def test_gpus_that_come_and_go_all_day_end_in_staying_down(tmp_path: Path) -> None:
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 3))
    ends = [recover(found, lost(f"n{number}", "tokens-frozen")) for number in range(6)]
    assert [each is not None and each.step is Step.SERVING for each in ends] == [True] * 3 + [False] * 3
    assert host.asked.count("start") == 3 and host.active == "inactive"
