"""A rank that is stopped or killed in the soak: how long until the GPUs are proven usable, and who is blamed?"""

from __future__ import annotations

import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lab.bench.lines import Line, at_most
from lab.gpu_peers import PeerError
from tunecheck.errors import TunecheckError
from tunecheck.host import Host
from tunecheck.model.measurement import Measured
from tunecheck.trials.allreduce import allreduce
from tunecheck.trials.heartbeat import PHASES, State
from tunecheck.trials.p2p import Flows
from tunecheck.trials.session import Trial as Measure
from tunecheck.trials.supervisor import Job, Outcome, Progress, Supervisor, Take, process_state

__all__ = ["Trial", "gpus", "one_trial", "stalls"]

_GOAL_SECONDS = 3.0             # beyond the stall limit
_SOAK_SECONDS = 60.0            # never reached: the signal comes after a second
_WORKER = b"tunecheck.trials.workers.worker"

#: Runs a trial as `tunecheck allreduce` does: lock, evidence, bundle in the folder.
Session = Callable[[Measure], Measured]


@dataclass
class Trial:
    """What one signal led to. ``proven``: seconds from the signal until the GPUs were examined; ``seconds``: until the
    report, with the bundle written and with the second arm, where the trial runs it after a hang."""

    number: signal.Signals
    pids: list[int] = field(default_factory=list)
    hit: int = 0
    at: float = 0.0
    proven: float = 0.0
    seconds: float = 0.0
    stalled_after: float = 0.0
    verdict: str = ""
    blamed: str = ""
    right: bool = False
    workers_ended: bool = False
    bundle: bool = False

    @property
    def usable(self) -> bool:
        return self.verdict in ("recovered", "ghost latch") and self.workers_ended


class _Watched(Supervisor):
    """Tells ``began`` of every run: the one after a stall begins when the GPUs were examined. ``culprits``: the
    processes that the first stall was blamed on."""

    def __init__(self, began: Callable[[], None], evidence: Take | None, progress: Progress) -> None:
        super().__init__(evidence=evidence, progress=progress)
        self._began = began
        self.culprits: list[int] = []

    def run(self, jobs: Sequence[Job], seconds: float, meanwhile: Callable[[], None] | None = None) -> Outcome:
        self._began()
        outcome = super().run(jobs, seconds, meanwhile)
        if outcome.stall is not None and not self.culprits:
            self.culprits = [each.pid for each in outcome.stall.suspects if each.role == "culprit"]
        return outcome


def gpus() -> int:
    """How many accelerators tunecheck sees here."""
    from tunecheck.app.read_host import look

    try:
        return len(look("allreduce", None, None)[1].topology.devices)
    except TunecheckError as error:
        raise PeerError(str(error)) from None


@contextmanager
def _session() -> Iterator[Session]:
    from tunecheck.app.read_host import look
    from tunecheck.host.live import LiveHost
    from tunecheck.trials.session import run

    _, snapshot = look("allreduce", None, None)
    door = LiveHost()
    with tempfile.TemporaryDirectory(prefix="tunecheck-bench-") as folder:
        try:
            yield lambda trial: run(door, snapshot, trial, bundles=folder)
        finally:
            door.close()


def one_trial(session: Session, number: signal.Signals, rank: int, nccl: str | None, delay: float = 0.0) -> Trial:
    """Start the trial; in its soak, send ``number`` to the worker ``rank``, counted round."""
    trial = Trial(number)

    def hit() -> None:
        trial.pids = _workers()
        trial.hit = trial.pids[rank % len(trial.pids)]
        trial.at = time.monotonic()
        os.kill(trial.hit, number)

    timers: list[threading.Timer] = []

    def watch(_: Sequence[Job], states: Sequence[State]) -> None:
        if not timers and states and all(state.phase == "soak" for state in states):
            timers.append(threading.Timer(delay, hit))
            timers[0].start()

    def began() -> None:
        if trial.at and not trial.proven:
            trial.proven = time.monotonic() - trial.at

    blamed: list[int] = []

    def measure(host: Host, ordinals: Sequence[int], flows: Flows, /, *, supervisor: Supervisor) -> Measured:
        watched = _Watched(began, supervisor.evidence, watch)
        found = allreduce(host, ordinals, flows, soak_seconds=_SOAK_SECONDS, nccl_path=nccl, shortened=True,
                          supervisor=watched)
        blamed.extend(watched.culprits)
        return found

    measured = session(measure)
    ended = time.monotonic()
    for timer in timers:
        timer.join()
    if not trial.at:
        raise PeerError(f"the soak never began, or ended before the signal: {dict(measured.failures)}")
    trial.seconds = ended - trial.at
    trial.proven = trial.proven or trial.seconds
    trial.workers_ended = all(process_state(pid) in ("gone", "Z") for pid in trial.pids)
    if measured.hangs:
        hang = measured.hangs[0]
        trial.stalled_after, trial.verdict = hang.after, hang.aftermath.verdict
        trial.blamed = "; ".join(hang.culprits) or "nobody"
        trial.right = blamed == [trial.hit] and len(hang.victims) == len(trial.pids) - 1
        trial.bundle = hang.bundle is not None
    return trial


def _workers() -> list[int]:
    """Our workers that run now, oldest first."""
    pids = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for pid in map(int, path.read_text().split()):
                if _WORKER in Path(f"/proc/{pid}/cmdline").read_bytes():
                    pids.append(pid)
    return sorted(pids)


def stalls(part: str, stops: int, kills: int, nccl: str | None) -> Iterable[Line]:
    """``stops`` trials with SIGSTOP and ``kills`` with SIGKILL, another rank each time. Ends at the first GPU that is
    not proven usable."""
    try:
        with _session() as session:
            for number, count in ((signal.SIGSTOP, stops), (signal.SIGKILL, kills)):
                if count:
                    yield from _judged(part, number, count, _trials(session, number, count, nccl))
    except TunecheckError as error:
        raise PeerError(str(error)) from None


def _trials(session: Session, number: signal.Signals, count: int, nccl: str | None) -> list[Trial]:
    rng = random.Random(4)       # another moment of the bursts each time, the same ones in every run
    trials: list[Trial] = []
    while len(trials) < count and (not trials or trials[-1].usable):
        trials.append(one_trial(session, number, len(trials), nccl, rng.uniform(0, 0.3)))
    return trials


def _judged(part: str, number: signal.Signals, count: int, trials: Sequence[Trial]) -> Iterable[Line]:
    name = f"{number.name} in the soak, {count} trials"
    seconds = [trial.seconds for trial in trials]
    wrong = "; ".join(f"pid {trial.hit}: {trial.blamed or 'no stall'}" for trial in trials if not trial.right)
    rest = "; ".join(trial.verdict or "no stall" for trial in trials if not trial.usable)
    yield Line(part, f"{name}: right culprit", float(sum(trial.right for trial in trials)), goal=f"{count}",
               good=len(trials) == count and not wrong, note=wrong)
    yield Line(part, f"{name}: workers gone, GPUs usable", float(sum(trial.usable for trial in trials)),
               goal=f"{count}", good=len(trials) == count and not rest, note=rest)
    yield Line(part, f"{name}: bundle with evidence", float(sum(trial.bundle for trial in trials)), goal=f"{count}",
               good=all(trial.bundle for trial in trials))
    proven = [trial.proven for trial in trials]
    yield at_most(part, f"{name}: signal to usable, most", max(proven), "s", _GOAL_SECONDS + PHASES["soak"],
                  note=f"median {statistics.median(proven):.2f} s, stall seen after "
                       f"{statistics.median(trial.stalled_after for trial in trials):.2f} s without progress")
    yield at_most(part, f"{name}: signal to report, most", max(seconds), "s", _GOAL_SECONDS + PHASES["soak"],
                  note=f"median {statistics.median(seconds):.2f} s")
