"""Who computes where, who is gone, and whom NCCL's RAS is asked of: real processes, a page of RAS that is played."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.host.test_nccl_ras import job
from tests.unit.watch.served import until_state

from tunecheck.host import Unreadable
from tunecheck.host.live import LiveHost
from tunecheck.host.nvml_samples import GpuSample
from tunecheck.model.absence import Absence
from tunecheck.watch import witnesses
from tunecheck.watch.model import Phase, Process, Run
from tunecheck.watch.witnesses import Witnesses, ask


@pytest.fixture
def ranks() -> Iterator[list[subprocess.Popen[bytes]]]:
    found = [subprocess.Popen(["sleep", "300"]) for _ in range(2)]
    try:
        yield found
    finally:
        for each in found:
            each.kill()
            each.wait(timeout=30)


def _on(*running: subprocess.Popen[bytes]) -> tuple[GpuSample, ...]:
    return tuple(GpuSample(f"0000:0{number}:00.0", uuid=f"GPU-{number}", pids=(each.pid,))
                 for number, each in enumerate(running, 3))


def test_who_computes_is_noted_and_is_missed(host: LiveHost, ranks: list[subprocess.Popen[bytes]],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "_NOTE_EVERY", 0.0)
    found = Witnesses(host)
    found.note(None, _on(*ranks), 7.0)
    ranks[0].send_signal(signal.SIGSTOP)
    until_state(ranks[0].pid, "T")
    ranks[1].kill()
    ranks[1].wait(timeout=30)
    found.note(None, _on(ranks[0]), 7.0)
    told = {each.pid: each for each in found.processes(None)}
    assert told[ranks[0].pid] == Process(ranks[0].pid, "sleep", "T", ranks[0].pid, ("0000:03:00.0",))
    assert (told[ranks[1].pid].state, told[ranks[1].pid].gpus) == ("X", ("0000:04:00.0",))
    found.note(None, _on(ranks[0]), 8.0)
    assert [each.pid for each in found.processes(None)] == [ranks[0].pid], "the engine moved without it"


def test_a_new_run_of_the_unit_has_no_dead_of_the_last_one(host: LiveHost, ranks: list[subprocess.Popen[bytes]],
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    found = Witnesses(host)
    group = Path(f"/proc/{ranks[0].pid}/cgroup").read_text().splitlines()[0].split(":", 2)[2]
    found.note(Run(Phase.RUNS, cgroup=group, invocation="a"), _on(*ranks), 7.0)
    assert len([each for each in found.processes(None) if each.gpus]) == 2
    found.note(Run(Phase.RUNS, cgroup=group, invocation="b"), (), 7.0)
    assert len([each for each in found.processes(None) if each.gpus]) == 2, "they may be of the new run"
    monkeypatch.setattr(witnesses, "_NOTE_EVERY", 0.0)
    found.note(Run(Phase.RUNS, cgroup=group, invocation="c"), (), 7.0)
    assert found.processes(None) == ()


def test_a_process_of_somebody_else_is_none_of_the_engine(host: LiveHost,
                                                          ranks: list[subprocess.Popen[bytes]]) -> None:
    found = Witnesses(host)
    found.note(Run(Phase.RUNS, cgroup="/system.slice/not-there.service"), _on(*ranks), 7.0)
    assert found.processes(None) == ()


def test_ras_is_asked_beside_the_looks(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    with job("well", "well") as (port, running):
        monkeypatch.setattr(witnesses, "where", lambda *_: ("127.0.0.1", port))
        found, those = Witnesses(host), (Process(running[0].pid, "x", "S", gpus=("a",)),)
        begun = time.monotonic()
        assert found.ras(those) == (None, Absence.NOT_READ) and time.monotonic() - begun < 5
        while found.ras(those)[1] is Absence.NOT_READ:
            time.sleep(0.02)
        assert found.ras(those) == (None, Absence.NOT_UNDERSTOOD), "what is played here has no table"
        found.forget()


def test_nobody_to_ask(host: LiveHost) -> None:
    found = Witnesses(host)
    assert found.ras(()) == (None, Absence.NOT_ASKED)
    assert found.ras((Process(os.getpid(), "x", "Z", gpus=("a",)),)) == (None, Absence.NOT_ASKED)
    with pytest.raises(Unreadable):
        ask(host, "/no/such.slice")
