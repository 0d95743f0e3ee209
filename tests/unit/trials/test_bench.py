"""The benchmark of the trials, on the fakes: its logic, not its figures."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab.bench import stalls as bench_stalls
from lab.bench import trials as bench_trials
from lab.gpu_peers import PAIR_TESTS, PeerError
from tests.unit.trials.fake_machine import Blind, Machine, Machines

from tunecheck.host.live import LiveHost
from tunecheck.report.measured_document import measured_document
from tunecheck.trials.allreduce import allreduce
from tunecheck.trials.evidence import Evidence
from tunecheck.trials.heartbeat import PHASES
from tunecheck.trials.p2p import p2p
from tunecheck.trials.supervisor import Supervisor

NVBANDWIDTH = """#!/bin/sh
case "$*" in *"-b 64 "*) ;; *) echo "no test for $*" >&2; exit 1;; esac
echo '%s'
"""
ROWS = """#!/bin/sh
[ "$1" = -np ] || exit 64
echo "    8192   4096  half   sum   -1   %(us)s  1  1  0   7  1  1  0"
echo " 1048576 524288  half   sum   -1   %(us)s  1  100  0   7  1  1  0"
"""


def _script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def _nvbandwidth(folder: Path, factor: float) -> str:
    def cell(trial: str, a: int, b: int) -> str:
        value = 700 if trial == "latency" else 50 if trial == "one way" else 100
        return "N/A" if a == b else str(value * factor)

    tests = [{"name": test, "bandwidth_matrix": [[cell(trial, a, b) for b in (0, 1)] for a in (0, 1)]}
             for (trial, _), (test, _) in PAIR_TESTS.items()]
    return _script(folder / "nvbandwidth", NVBANDWIDTH % json.dumps({"nvbandwidth": {"testcases": tests}}))


@pytest.fixture
def here(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """This process' children run on two GPUs that are not there."""
    box = machine(nccl="us=10 gbs=100")
    for name, value in box.environment.items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)

    def tunecheck(verb: str, *words: str, **_: Any) -> tuple[dict[str, Any], float]:
        host: Any = Blind()
        found = p2p(host, [0, 1]) if verb == "p2p" else allreduce(
            host, [0, 1], soak_seconds=0.1 if "1s" in words else 0, shortened=True)
        return measured_document(found), 1.0

    monkeypatch.setattr(bench_trials, "tunecheck", tunecheck)
    monkeypatch.setattr(bench_trials, "machine", lambda: ["a GPU that is not there"])
    return box


def _lines(path: Path) -> dict[str, dict[str, Any]]:
    return {line["what"]: line for line in json.loads(path.read_text())["lines"]}


@pytest.mark.parametrize(("factor", "code"), [(1, 0), (1.05, 1)])
def test_copies_against_nvbandwidth(here: Machine, tmp_path: Path, factor: float, code: int,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "lines.json"
    assert bench_trials.main(["--only", "a", "--runs", "1", "--json", str(kept), "--nvbandwidth",
                              _nvbandwidth(tmp_path, factor)]) == code
    lines = _lines(kept)
    assert len(lines) == 2 * 4 + 2 + 2 + 1
    good = {line["good"] for what, line in lines.items() if not what.startswith("wall")}
    assert good == {factor == 1} and ("MISSED" in capsys.readouterr().out.splitlines()[1]) == (factor != 1)
    assert lines["one way, engine read 1-0"]["ratio"] == pytest.approx(1 / factor, rel=1e-2)


def test_all_reduces_against_nccl_tests(here: Machine, tmp_path: Path) -> None:
    kept = tmp_path / "lines.json"
    peer = _script(tmp_path / "mpirun", ROWS % {"us": 10.1})
    bench_trials.main(["--only", "b,d,e", "--runs", "1", "--soak", "1s", "--json", str(kept), "--mpirun", peer,
                       "--all-reduce-perf", "all_reduce_perf"])
    lines = _lines(kept)
    assert lines["NCCL in graphs, 2 ranks, 8192 B"]["good"] is True
    own = lines["own one-shot, 2 ranks, 8192 B"]
    assert own["good"] is True and own["theirs"] == 10.1 and own["ratio"] == pytest.approx(0.155, rel=0.05)
    assert lines["own one-shot, p99 / p50, 2 ranks, 8192 B"]["ours"] == pytest.approx(1, rel=1e-2)
    assert lines["NCCL bus bandwidth, 2 ranks, 1048576 B"]["theirs"] == 100
    assert lines["soak of 1s: bursts without a false alarm"]["good"] is True


def test_without_counterparts_nothing_is_compared(here: Machine, tmp_path: Path) -> None:
    kept = tmp_path / "lines.json"
    assert bench_trials.main(["--only", "a", "--runs", "1", "--json", str(kept)]) == 0
    assert {line["good"] for what, line in _lines(kept).items() if not what.startswith("wall")} == {None}


def test_a_counterpart_that_fails_is_named(here: Machine, tmp_path: Path) -> None:
    kept = tmp_path / "lines.json"
    assert bench_trials.main(["--only", "a", "--runs", "1", "--json", str(kept), "--nvbandwidth",
                              _script(tmp_path / "nvb", "#!/bin/sh\necho no GPU >&2; exit 1\n")]) == 2
    assert "no GPU" in json.loads(kept.read_text())["failed"]["a"]


def test_a_trial_that_hung_counts_as_missed(monkeypatch: pytest.MonkeyPatch, here: Machine) -> None:
    hung = {"figures": [], "wrong": [], "hangs": [{"phase": "soak"}], "failures": {}, "notes": {}}
    monkeypatch.setattr(bench_trials, "tunecheck", lambda *_, **__: (hung, 1.0))
    assert bench_trials.main(["--only", "d", "--soak", "1s"]) == 1


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials without the lock, and on GPUs that the rest of this machine does not have."""
    @contextmanager
    def session() -> Iterator[bench_stalls.Session]:
        door = LiveHost()
        try:
            yield lambda trial: trial(door, [0, 1], (), supervisor=Supervisor(evidence=Evidence(door)))
        finally:
            door.close()

    monkeypatch.setattr(bench_stalls, "_session", session)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_the_rank_that_gets_a_signal_is_the_culprit(here: Machine, sessions: None, number: signal.Signals) -> None:
    stops = number is signal.SIGSTOP
    right, usable, bundle, proven, wall = bench_stalls.stalls("c", int(stops), int(not stops), None)
    assert right.good and usable.good and not bundle.good and (right.ours, usable.ours, bundle.ours) == (1, 1, 0)
    assert wall.ours and proven.ours and wall.ours >= proven.ours > (PHASES["soak"] if stops else 0)


def test_a_soak_that_never_begins(monkeypatch: pytest.MonkeyPatch, here: Machine, sessions: None) -> None:
    monkeypatch.setenv("FAKE_CUDA", "gpus=2 at=cuInit do=100")
    with pytest.raises(PeerError, match="CUDA_ERROR_NO_DEVICE"):
        list(bench_stalls.stalls("c", 1, 0, None))


def test_unknown_parts_are_refused() -> None:
    with pytest.raises(SystemExit):
        bench_trials.main(["--only", "a,x"])
