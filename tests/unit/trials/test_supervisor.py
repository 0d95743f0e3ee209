"""The supervisor against workers that do everything wrong. No GPU is needed: what hangs here are processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checks.machines import build

from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed, Host, Unreadable
from tunecheck.model.absence import Absence
from tunecheck.model.measurement import Measured
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.trials.containers.ipc import outcome_of, plain
from tunecheck.trials.evidence import Evidence
from tunecheck.trials.p2p import failures_of
from tunecheck.trials.ras import COMMAND as RAS
from tunecheck.trials.supervisor import Job, Outcome, Supervisor, Suspect, process_state

REPO = Path(__file__).resolve().parents[3]
PATHS = {"PYTHONPATH": os.pathsep.join([str(REPO / "checks"), str(REPO)])}
LIMITS = {"soak": 0.6}


def job(function: str = "steps", **parameters: Any) -> Job:
    return Job(f"tests.unit.trials.jobs:{function}", parameters, PATHS)


def run(*jobs: Job, seconds: float = 60, limits: Mapping[str, float] = LIMITS, **options: Any) -> Outcome:
    return Supervisor(limits, **options).run(jobs, seconds)


def children() -> set[int]:
    """Those of this process. Servers of other tests may be among them, so compare before and after."""
    return {int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_two_workers_that_do_their_job() -> None:
    outcome = run(job(), job())
    assert outcome.complete and outcome.codes == (0, 0) and outcome.errors == ("", "")
    assert outcome.results == (({"steps": 20, "worker": 0},), ({"steps": 20, "worker": 1},))


def test_no_worker_begins_before_what_is_done_meanwhile_returns(tmp_path: Path) -> None:
    mark, seen = tmp_path / "begun", []

    def meanwhile() -> None:
        time.sleep(0.5)
        seen.append(mark.exists())

    outcome = Supervisor(LIMITS).run([job("marks", file=str(mark))], 60, meanwhile)
    assert outcome.complete and seen == [False] and mark.exists()


def test_what_fails_meanwhile_ends_workers_that_never_began(tmp_path: Path) -> None:
    mark = tmp_path / "begun"

    def meanwhile() -> None:
        raise KeyboardInterrupt

    before = children()
    with pytest.raises(KeyboardInterrupt):
        Supervisor(LIMITS).run([job("marks", file=str(mark))], 60, meanwhile)
    assert not mark.exists() and not children() - before


def test_a_job_whose_code_cannot_be_loaded_says_so() -> None:
    outcome = run(Job("tests.unit.trials.absent:steps", {}, PATHS))
    assert outcome.codes == (1,) and outcome.results[0][0]["kind"] == "ModuleNotFoundError"


@pytest.mark.parametrize(("then", "process", "code"), [
    ("stop", {"T"}, -9), ("die", {"gone", "Z"}, -9), ("segfault", {"gone", "Z"}, -11), ("hold", {"R", "S"}, -9),
])
def test_the_one_that_does_not_run_is_the_culprit(then: str, process: set[str], code: int) -> None:
    """The other one waits for it, as in an all-reduce: it beats on, and is the victim."""
    seen: list[Sequence[Suspect]] = []

    def evidence(suspects: Sequence[Suspect], seconds: float) -> dict[str, Any]:
        seen.append(suspects)
        assert process_state(suspects[0].pid) not in ("gone", "Z")      # nothing is killed before the evidence is taken
        return {"taken": True}

    outcome = run(job(at=5, who=0, then="wait", silent=1), job(at=5, who=1, then=then), evidence=evidence)
    assert outcome.stall is not None and not outcome.complete
    assert (outcome.stall.role("culprit"), outcome.stall.role("victim")) == ((1,), (0,))
    suspect = outcome.stall.suspects[1]
    assert suspect.process_state in process and not suspect.runs and outcome.codes == (-9, code)
    assert outcome.stall.phase == "soak" and outcome.stall.after >= LIMITS["soak"]
    assert outcome.stall.evidence == {"taken": True} and len(seen) == 1
    assert all(process_state(suspect.pid) == "gone" for suspect in outcome.stall.suspects) and not outcome.abandoned


def test_nobody_stands_out_where_all_wait() -> None:
    outcome = run(job(at=3, then="wait"), job(at=3, who=1, then="wait"))
    assert outcome.stall is not None and outcome.stall.role("victim") == (0, 1) and not outcome.stall.role("culprit")


def test_one_that_is_killed_is_found_before_the_others_are_late() -> None:
    outcome = run(job(at=3, then="wait"), job(at=2, who=1, then="die"), limits={"soak": 50})
    assert outcome.stall is not None and (outcome.stall.role("culprit"), outcome.stall.role("victim")) == ((1,), (0,))
    assert outcome.stall.phase == "soak" and outcome.stall.after < 30


def test_the_one_that_got_less_far_is_the_culprit_where_all_run() -> None:
    outcome = run(job(at=3, then="wait"), job(at=2, who=1, then="wait"), job(at=3, who=2, then="wait"))
    assert outcome.stall is not None and (outcome.stall.role("culprit"), outcome.stall.role("victim")) == ((1,), (0, 2))
    assert [(each.runs, each.state.phase) for each in outcome.stall.suspects] == [(True, "soak")] * 3
    assert [each.state.progress for each in outcome.stall.suspects] == [5, 4, 5]


def test_a_worker_that_was_only_late_is_no_stall() -> None:
    """Its beat stands still beyond the limit, but within the second look it gets on."""
    outcome = run(job(at=5, who=0, then="late"), limits={"soak": 0.4})
    assert outcome.complete


class _Expects:
    """Evidence that only counts who asks."""

    def __init__(self) -> None:
        self.expected = self.taken = 0

    def expect(self) -> None:
        self.expected += 1

    def __call__(self, suspects: Sequence[Suspect], seconds: float) -> dict[str, Any]:
        self.taken += 1
        return {}


def test_every_pause_is_told_once_before_it_is_a_stall() -> None:
    told = _Expects()
    assert run(job(count=2, pause=2.4), limits={"soak": 3.0}, evidence=told).complete
    assert (told.expected, told.taken) == (2, 0), "and a pause that passes is no stall"
    told = _Expects()
    assert run(job(at=3, then="wait"), evidence=told).stall is not None
    assert (told.expected, told.taken) == (1, 1)


def test_what_nccl_says_is_of_this_pause() -> None:
    host = _Ras()
    evidence = Evidence(host)  # type: ignore[arg-type]
    evidence.expect()
    evidence.expect()       # the first pause passed
    assert evidence([], 5.0)["nccl ras"] == "answer 2"
    assert evidence([], 5.0)["nccl ras"] == "answer 3", "without a word before it is asked at the stall"


class _Ras(Host):
    """Answers RAS with the number of the question; has nothing else."""

    def __init__(self) -> None:
        self._asked, self._waits = 0, False

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        if RAS in argvs and not self._waits:
            self._asked, self._waits = self._asked + 1, True

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        if argv != RAS:
            raise Unreadable(argv[0], Absence.NOT_INSTALLED.because("not installed"))
        self.ahead(RAS)
        self._waits = False
        return Completed(argv, 0, f"answer {self._asked}", "")

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        raise Unreadable("NVML", Absence.NOT_PRESENT.because("not present"))


def test_a_worker_that_ignores_every_polite_signal() -> None:
    outcome = run(job(at=3, then="ignore"))
    assert outcome.stall is not None and outcome.codes == (-signal.SIGKILL,)


def test_a_worker_that_failed_and_said_why_is_no_stall() -> None:
    outcome = run(job(at=2, then="raises"), job(count=10_000), limits={"soak": 30})
    assert outcome.stall is None and not outcome.complete and outcome.codes == (1, -signal.SIGKILL)
    assert outcome.results[0][-1] == {"error": "CUDA_ERROR_OUT_OF_MEMORY while allocating 512 MiB",
                                      "kind": "MemoryError", "code": None}


def test_the_whole_session_of_a_worker_ends() -> None:
    outcome = run(job(at=1, then="grandchild"))
    (child,) = [result["child"] for result in outcome.results[0] if "child" in result]
    until = time.monotonic() + 5
    while process_state(child) not in ("gone", "Z") and time.monotonic() < until:
        time.sleep(0.01)
    assert process_state(child) in ("gone", "Z")


def test_much_output_blocks_nobody() -> None:
    outcome = run(job("talks"), limits={"start": 30})
    assert outcome.complete and len(outcome.results[0]) == 2000 and outcome.errors[0].endswith("noise")


def test_who_gets_on_until_the_time_is_up_is_slow_and_does_not_hang() -> None:
    """A demo on a busy machine without KVM was told that its all-reduce hung and that P2P is to blame."""
    outcome = run(job(count=10_000), seconds=1.0, limits={"soak": 30})
    assert outcome.stall is None and outcome.out_of_time and not outcome.complete
    assert outcome_of(json.loads(json.dumps(plain(outcome)))) == outcome, "also out of a container"
    (reason,) = failures_of("p2p", outcome).values()
    assert f" {outcome.seconds:.0f} s " in reason and not outcome.paused
    findings = [finding for finding in judge(Case(gather(build({}), None, True), measured=Measured(failures={
        "p2p": reason})), "p2p") if finding.id == "trial-hang"]
    assert [finding.outcome for finding in findings] == ["unknown"], "never a pass, and no wedge"


@pytest.mark.parametrize("left", [[], [1], [0, 1]])
def test_who_gets_on_while_evidence_is_taken_did_not_hang(tmp_path: Path, left: list[int]) -> None:
    """A rollout on a busy host was told that a soak hung after 1.5 s and that P2P is to blame: both ranks only waited
    for a processor. One that gets on alone waits for the other still."""
    until = tmp_path / "go"

    def evidence(_: Sequence[Suspect], __: float) -> dict[str, Any]:
        until.touch()
        last = time.monotonic() + 20
        while time.monotonic() < last and not all(until.with_suffix(f".{each}").exists() for each in {0, 1} - {*left}):
            time.sleep(0.01)
        return {}

    outcome = run(*(job(at=3, who=number, then="held", until=str(until), left=left, count=10_000)
                    for number in (0, 1)), evidence=evidence)
    if left:
        assert outcome.stall is not None and not outcome.out_of_time
        return
    assert outcome.stall is None and outcome.out_of_time and not outcome.complete
    assert LIMITS["soak"] <= outcome.paused < 20
    assert outcome_of(json.loads(json.dumps(plain(outcome)))) == outcome, "also out of a container"
    (reason,) = failures_of("p2p", outcome).values()
    assert f" {outcome.paused:.1f} s" in reason


def test_who_is_stopped_when_the_time_is_up_is_to_blame() -> None:
    outcome = run(job(at=2, then="stop"), job(count=10_000), seconds=1.5, limits={"soak": 30})
    assert outcome.stall is not None and outcome.stall.phase == "time limit" and not outcome.out_of_time
    assert outcome.stall.role("culprit") == (0,)


def test_a_worker_that_never_starts() -> None:
    outcome = run(Job("nowhere:nothing", {}, PATHS))
    assert outcome.codes == (1,) and outcome.results[0][-1]["kind"] == "ModuleNotFoundError"


SCRIPT = """
import sys
from tests.unit.trials.test_supervisor import job, run
try:
    run(job(count=100000), job(count=100000), seconds=120, limits={"soak": 60})
except KeyboardInterrupt:
    print("interrupted"); sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_parent_leaves_nobody(number: int) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], env={**os.environ, **PATHS}, stdout=subprocess.PIPE,
                              start_new_session=True)
    try:
        until, children = time.monotonic() + 30, []
        while len(children) < 2 and time.monotonic() < until:
            children = _children(parent.pid)
            time.sleep(0.05)
        time.sleep(0.5)     # they are in the middle of their work
        os.kill(parent.pid, number)
        assert parent.wait(20) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    finally:
        parent.kill()
        parent.wait()
        assert parent.stdout is not None
        parent.stdout.close()
    until = time.monotonic() + 5
    while any(process_state(child) not in ("gone", "Z") for child in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert len(children) == 2 and {process_state(child) for child in children} <= {"gone", "Z"}


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
            except (OSError, IndexError):
                continue
    return found
