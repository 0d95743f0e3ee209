"""Evidence that goes away makes no verdict better: what was seen last stays so where it cannot be read again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.watch.test_judge import DECODES, RESTS, Night
from tests.unit.watch.test_sources import _Host

from tunecheck.errors import ProbeError
from tunecheck.host import Unreadable
from tunecheck.host.nvml_samples import GpuSample
from tunecheck.model.absence import Absence
from tunecheck.serving import accepted
from tunecheck.watch import blame, witnesses
from tunecheck.watch.model import Code, Engine, Part, Phase, Reason, Run, State
from tunecheck.watch.sources import Sources, Target
from tunecheck.watch.unit import Unit
from tunecheck.watch.witnesses import Witnesses

STARTS = (Reason(Code.NVML_STARTS),)


@pytest.mark.parametrize(("gpus", "state"), [
    ((DECODES[0], replace(DECODES[1], error="GPU_IS_LOST")), State.LOST), (DECODES[:1], State.LOST),
    ((DECODES[0], replace(DECODES[1], error="Unknown Error")), State.DEGRADED),
    ((DECODES[0], replace(DECODES[1], throttle=0x8)), State.DEGRADED)], ids=["lost", "not listed", "error", "braked"])
def test_a_gpu_in_trouble_stays_so_while_nvml_starts_again(gpus: tuple[GpuSample, ...], state: State) -> None:
    """Its process died with the GPU; a second later /ready said yes."""
    night = Night()
    night.go(10)
    assert night.go(30, gpus=gpus).state is state
    assert night.go(30, gpus=None, conditions=STARTS).state is state
    assert night.go(30, gpus=DECODES).state is State.SERVING


def test_a_replica_that_is_not_told_now_and_then_does_not_hide_its_stall() -> None:
    night = Night()
    for second in range(1500):
        moves = Part("0", 4, 100.0 * second)
        parts = (moves, Part("1", 4, 700.0)) if second % 7 else (moves,)
        night.go(1, engine=Engine(8, 0, sum(each.moved for each in parts), 1.0, replicas=parts), gpus=RESTS)
    assert night.all[-1].state is State.STALLED


def test_a_replica_that_was_taken_away_is_no_stall() -> None:
    night = Night()
    for second in range(1500):
        parts = (Part("0", 4, 100.0 * second), *([Part("1", 4, 700.0)] if second < 60 else []))
        night.go(1, engine=Engine(8, 0, sum(each.moved for each in parts), 1.0, replicas=parts), gpus=RESTS)
    assert State.STALLED not in night.states


# ---- systemd, the acceptance -----------------------------------------------------------------------------------------

UNIT = "ActiveState=active\nNRestarts=0\nControlGroup=/x\nMainPID=1\nLoadState=loaded\nInvocationID=run1\n"


def _kept(**more: Any) -> bytes:
    return json.dumps({
        "schema": accepted.SCHEMA, "boot_id": "b", "invocation": "run1", "recipe": "", "image": "", "gpus": [],
        "tok_s": 50.0, "prompt_tok_s": None, "model": "m", "api": "chat", "question": None, **more}).encode()


def _looks(host: _Host) -> Any:
    unit = Unit(host, "x.service")
    found = Sources(host, Target("http://127.0.0.1:1", accepted="/run/a.json", by_unit=True, boot_id="b"), None, None,
                    None, unit)

    def look() -> Any:
        found._slow.clear()
        unit._next = 0.0
        return found.look(False)

    return look


def test_an_acceptance_counts_on_where_systemd_gives_no_answer() -> None:
    """A box that is slow enough for that was told to be fast again."""
    host = _Host()
    host.runs["systemctl"], host.files["/run/a.json"] = UNIT, _kept()
    look = _looks(host)
    look()
    assert look().accepted is not None
    told = host.runs.pop("systemctl")
    assert look().accepted is not None
    host.runs["systemctl"] = told.replace("run1", "run2")
    assert look().accepted is None, "another run is another acceptance"


@pytest.mark.parametrize("content", [None, b"", b"{", _kept()[:-9], _kept(invocation="other"), _kept(boot_id="c")])
def test_an_acceptance_counts_on_where_its_file_is_gone_or_torn(content: bytes | None) -> None:
    host = _Host()
    host.runs["systemctl"], host.files["/run/a.json"] = UNIT, _kept()
    look = _looks(host)
    look()
    assert look().accepted is not None
    if content is None:
        del host.files["/run/a.json"]
    else:
        host.files["/run/a.json"] = content
    found = look().accepted
    assert found is not None and found.tok_s == 50.0
    host.files["/run/a.json"] = _kept(tok_s=70)
    assert look().accepted.tok_s == 70, "a new acceptance of this run"
    host.runs["systemctl"] = UNIT.replace("run1", "run2")
    del host.files["/run/a.json"]
    assert look().accepted is None


def test_an_acceptance_counts_on_where_the_list_of_gpus_cannot_be_read() -> None:
    host = _Host()
    host.runs["systemctl"], host.files["/run/a.json"] = UNIT, _kept(gpus=["0000:03:00.0"])
    real = host.list

    def listed(path: str) -> list[str]:
        return ["0000:03:00.0"] if path == accepted.GPUS else real(path)

    def unread(path: str) -> list[str]:
        raise Unreadable(path, Absence.TIMED_OUT)

    host.list = listed      # type: ignore[method-assign]
    look = _looks(host)
    look()
    assert look().accepted is not None
    host.list = unread      # type: ignore[method-assign]
    assert look().accepted is not None
    host.list = lambda _: ["0000:04:00.0"]      # type: ignore[method-assign]
    assert look().accepted is None, "other GPUs are another box"


# ---- who computes ----------------------------------------------------------------------------------------------------

def _stat(pid: int, started: int, state: str = "S", name: str = "VLLM") -> bytes:
    return f"{pid} ({name}) {state} 1 {' '.join(['0'] * 17)} {started} 0 0\n".encode()


class _Box(_Host):
    """Process 77 of the unit computes on a GPU, 88 of another unit too."""

    def __init__(self) -> None:
        super().__init__()
        self.runs["systemctl"] = UNIT
        self.put(77, "/x")
        self.put(88, "/other")

    def put(self, pid: int, group: str, started: int = 5, state: str = "S", name: str = "VLLM") -> None:
        self.files[f"/proc/{pid}/stat"] = _stat(pid, started, state, name)
        self.files[f"/proc/{pid}/cgroup"] = f"0::{group}\n".encode()
        self.files[f"/proc/{pid}/status"] = f"NSpid:\t{pid}\n".encode()

    def gone(self, pid: int) -> None:
        for name in ("stat", "cgroup", "status"):
            del self.files[f"/proc/{pid}/{name}"]


GPUS = (GpuSample("0000:03:00.0", pids=(77, 88)),)
OURS = Run(Phase.RUNS, None, 0, "/x", 1, invocation="run1")


@pytest.fixture
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "_NOTE_EVERY", 0.0)


@pytest.mark.usefixtures("_now")
def test_who_ended_is_known_where_systemd_gives_no_answer() -> None:
    """And a job of another unit is still not the engine's."""
    host = _Box()
    found = Witnesses(host)
    found.note(OURS, GPUS, 1.0)
    host.gone(77)
    for _ in range(3):
        found.note(Run(), (GpuSample("0000:03:00.0", pids=(88,)),), 1.0)
    told = found.processes(Run())
    assert [(each.pid, each.state) for each in told] == [(77, "X")]


@pytest.mark.usefixtures("_now")
def test_an_id_that_somebody_else_has_by_now_is_of_who_ended() -> None:
    host = _Box()
    found = Witnesses(host)
    found.note(OURS, GPUS, 1.0)
    for state in "STD":
        host.put(77, "/other", started=9, state=state, name="sh")
        assert [(each.pid, each.name, each.state) for each in found.processes(OURS)] == [(77, "VLLM", "X")], state
    found.note(OURS, GPUS, 1.0)
    assert [(each.pid, each.name, each.state) for each in found.processes(OURS)] == [(77, "VLLM", "X")]
    host.put(77, "/x", started=5)
    assert [each.state for each in found.processes(OURS)] == ["S"]


@pytest.mark.usefixtures("_now")
@pytest.mark.parametrize("error", [Unreadable("x", Absence.TIMED_OUT), Unreadable("x", Absence.NO_PERMISSION),
                                   ProbeError("no process can be started")])
def test_who_cannot_be_read_has_not_ended(error: ProbeError) -> None:
    """A reader that hangs, or that gets no process: the rank was blamed for its own end."""
    host = _Box()
    found = Witnesses(host)
    found.note(OURS, GPUS, 1.0)
    real = host.read_bytes

    def fails(path: str) -> bytes:
        if path.startswith("/proc/77/"):
            raise error
        return real(path)

    host.read_bytes = fails     # type: ignore[method-assign]
    for _ in range(3):
        found.note(OURS, GPUS, 1.0)
        told = found.processes(OURS)
        assert [(each.pid, each.state) for each in told] == [(77, "")]
        assert blame.claims(None, told, (), GPUS) == ()
    host.read_bytes = real      # type: ignore[method-assign]
    assert [each.state for each in found.processes(OURS)] == ["S"]
