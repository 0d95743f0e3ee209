"""Run workers, watch that they get on, and come back whatever they do.

The parent never touches CUDA or NVML. It waits on memory and on pipes, always with a bound; what cannot be killed
(state D) is left behind and named. Evidence is taken *before* anything is killed: afterwards there is none.
"""

from __future__ import annotations

import contextlib
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .children import Job, Worker, kill, process_state
from .heartbeat import PHASES, Board, State

__all__ = ["Job", "Outcome", "Progress", "Stall", "Supervisor", "Suspect", "Take", "process_state"]

_POLL_SECONDS = 0.002
#: A beat that old beside a parent that runs means: this process does not run.
_SILENT_SECONDS = 0.25
#: What a silent worker gets to show that it only waited for a processor or a disk: then it soon beats.
_SECOND_LOOK_SECONDS = 1.0
_PROGRESS_SECONDS = 0.25
#: So long before the limit of a phase evidence that takes its time is asked for: NCCL waits a second for a rank that
#: gives no answer.
_EARLY_SECONDS = 1.1
#: What the others get to end by themselves after one failed and said why.
_GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Suspect:
    """One worker at the moment of a stall. ``role``: culprit (does not run, or is gone), victim (runs and waits).
    ``runs``: its process works; then what it waits for is the question, not what stopped it."""

    worker: int
    pid: int
    role: str
    why: str
    state: State
    process_state: str
    runs: bool = False

    @property
    def momentary(self) -> bool:
        """Whether this state may last for a moment only: a beat that comes late, a wait in the kernel."""
        return self.role == "culprit" and not self.runs and self.process_state in ("R", "S", "D")


@dataclass(frozen=True)
class Stall:
    """A worker did not get on. ``after`` is how long the slowest worker had made no progress, in seconds; ``evidence``
    what was collected."""

    phase: str
    after: float
    suspects: tuple[Suspect, ...]
    evidence: Mapping[str, Any]

    def role(self, role: str) -> tuple[int, ...]:
        return tuple(suspect.worker for suspect in self.suspects if suspect.role == role)


@dataclass(frozen=True)
class OutOfTime:
    """The time limit of the whole run passed while every worker got on; or nobody got on for ``paused`` seconds, as in
    a stall, and then everybody did."""

    paused: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``results`` by worker; ``codes`` are exit codes, None for one that was left behind (then its
    pid is in ``abandoned`` with where it hangs); ``seconds`` is wall time. ``out_of_time``: it was ended at its time
    limit although every worker got on, or behind a pause of ``paused`` seconds after which every worker did: that is a
    slow machine and no stall."""

    results: tuple[tuple[dict[str, Any], ...], ...]
    codes: tuple[int | None, ...]
    stall: Stall | None
    abandoned: Mapping[int, str]
    errors: tuple[str, ...]
    seconds: float
    out_of_time: bool = False
    paused: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every worker did its job to the end."""
        return self.stall is None and all(code == 0 for code in self.codes)


class Take(Protocol):
    """A function that takes evidence of suspects within so many seconds. ``expect``, where it has one, is called when a
    stall may come, and may ask ahead for what changes nothing."""

    def __call__(self, suspects: Sequence[Suspect], seconds: float, /) -> Mapping[str, Any]: ...


#: Is shown what runs, and how far each worker has got.
Progress = Callable[[Sequence[Job], Sequence[State]], None]


class Supervisor:
    """Run workers and watch them. ``limits`` overrides seconds of phases; ``evidence`` is called with the suspects
    before anything is killed, and has to come back by itself (it gets a deadline in seconds); ``progress`` is called
    now and then, and must not block."""

    def __init__(self, limits: Mapping[str, float] | None = None, evidence: Take | None = None,
                 progress: Progress | None = None, evidence_seconds: float = 5.0) -> None:
        self._limits = {**PHASES, **(limits or {})}
        self.evidence = evidence
        self.progress = progress
        self._evidence_seconds = evidence_seconds

    def run(self, jobs: Sequence[Job], seconds: float, meanwhile: Callable[[], None] | None = None) -> Outcome:
        """Run all jobs at once to their end, for at most ``seconds``. ``meanwhile`` is called before, while the workers
        load their code: none of them touches a GPU until it returns. At Ctrl-C everything is killed, then it is
        raised."""
        began = time.monotonic()
        board = Board(len(jobs))
        workers: list[Worker] = []
        abandoned: dict[int, str] = {}
        stall: Stall | OutOfTime | None = None
        try:
            for number, job in enumerate(jobs):
                workers.append(Worker(number, job, board))
            if meanwhile is not None:
                meanwhile()
            for worker in workers:
                worker.begin()
            stall = self._watch(workers, board, time.monotonic() + seconds)
        finally:
            # Never a wait without a bound, not even here.
            abandoned = kill([worker.process for worker in workers])
            for worker in workers:
                worker.collect()
            board.close()
            errors = tuple(worker.error_output() for worker in workers)
            for worker in workers:
                worker.close()
        codes = tuple(None if worker.pid in abandoned else worker.process.returncode for worker in workers)
        late = stall if isinstance(stall, OutOfTime) else None
        return Outcome(tuple(tuple(worker.results) for worker in workers), codes,
                       None if isinstance(stall, OutOfTime) else stall, abandoned, errors, time.monotonic() - began,
                       late is not None, late.paused if late else 0.0)

    def _watch(self, workers: Sequence[Worker], board: Board, until: float) -> Stall | OutOfTime | None:
        """Wait until all have ended, or one does not get on. A worker that failed ends the run of the others as
        well."""
        shown = time.monotonic()
        first_failure: float | None = None
        expected = False
        poller = select.poll()
        while True:
            alive = [worker for worker in workers if worker.process.poll() is None]
            for worker in workers:
                worker.collect()
            if not alive:
                return None
            now = time.monotonic()
            failed = [worker for worker in workers if worker.process.returncode not in (0, None)]
            first_failure = first_failure or (now if failed else None)
            states = {worker: board.state(worker.number) for worker in alive}
            stuck = [worker for worker in alive if self._stuck(states[worker])]
            pause = any(self._pauses(state) for state in states.values())
            if pause and not expected and (expect := getattr(self.evidence, "expect", None)) is not None:
                expect()
            expected = pause
            late_failure = first_failure is not None and now - first_failure > _GRACE_SECONDS
            # One that failed and said why is no stall of the others; one that was killed is, and nobody has to wait for
            # the limit of the phase to know that.
            if failed and (late_failure or stuck) and all(worker.process.returncode == 1 for worker in failed):
                return None
            if stuck or late_failure or now >= until:
                suspects = _suspects(workers, board)
                # With too few processors even 1.5 s may pass without any of them; who gets on now has no stall.
                if late_failure or any(self._stuck(board.state(worker.number)) for worker in stuck):
                    stall = self._stall(suspects)
                    # Evidence takes its time. Who got on meanwhile only waited for a processor, as all did in a soak
                    # in a virtual machine on a busy host, where P2P was said to be to blame.
                    return OutOfTime(stall.after) if not late_failure and _all_got_on(suspects, board) else stall
                if now >= until:
                    # Nobody to blame: they beat, and each was within the limit of what it did.
                    blamed = any(suspect.role == "culprit" for suspect in suspects)
                    return self._stall(suspects, "time limit") if blamed else OutOfTime()
            if self.progress is not None and now - shown >= _PROGRESS_SECONDS:
                self.progress([worker.job for worker in workers], [board.state(worker.number) for worker in workers])
                shown = now
            poller.poll(_POLL_SECONDS * 1000)

    def _stuck(self, state: State) -> bool:
        return state.progress_age is not None and state.progress_age > self._limits[state.phase]

    def _pauses(self, state: State) -> bool:
        """Whether a stall may come: the worker got on for a while, and does not now."""
        limit = self._limits[state.phase]
        return state.progress_age is not None and state.progress_age > max(limit - _EARLY_SECONDS, limit / 4)

    def _stall(self, suspects: tuple[Suspect, ...], phase: str = "") -> Stall:
        if not phase:       # else they may all get on, and one is behind at this moment only
            suspects = _behind(suspects)
        waiting = [suspect for suspect in suspects if suspect.process_state != "gone"]
        slowest = max(waiting or suspects, key=lambda suspect: suspect.state.progress_age or 0.0)
        evidence: Mapping[str, Any] = {}
        if self.evidence is not None:
            try:
                evidence = self.evidence(suspects, self._evidence_seconds)
            except Exception as error:      # evidence that cannot be had is no reason to lose the stall
                evidence = {"error": f"{type(error).__name__}: {error}"}
        return Stall(phase or slowest.state.phase, slowest.state.progress_age or 0.0, suspects,
                     evidence)


def _all_got_on(suspects: Sequence[Suspect], board: Board) -> bool:
    """Whether every worker that had not ended has made progress since it was looked at."""
    return all(each.role == "done" or board.state(each.worker).progress > each.state.progress for each in suspects)


def _suspects(workers: Sequence[Worker], board: Board) -> tuple[Suspect, ...]:
    """Return every worker in its present state. A state that may pass in a moment is looked at again until the worker
    gets on, for at most a second."""
    until = time.monotonic() + _SECOND_LOOK_SECONDS
    found = [_suspect(worker, board.state(worker.number)) for worker in workers]
    unsure = {worker: suspect.state.progress for worker, suspect in zip(workers, found, strict=True)
              if suspect.momentary}
    while time.monotonic() < until and any(board.state(worker.number).progress == steps
                                           for worker, steps in unsure.items()):
        time.sleep(_POLL_SECONDS)
        found = [_suspect(worker, board.state(worker.number)) if suspect.momentary else suspect
                 for worker, suspect in zip(workers, found, strict=True)]
    return tuple(found)


def _suspect(worker: Worker, state: State) -> Suspect:
    code = worker.process.poll()
    if code is not None:
        role, why = ("done", "did its job") if code == 0 else ("culprit", _ended(code))
        return Suspect(worker.number, worker.pid, role, why, state, "gone")
    letter = process_state(worker.pid)
    if letter in ("T", "t", "Z", "X", "gone"):
        return Suspect(worker.number, worker.pid, "culprit", f"process state {letter}: it does not run", state,
                       letter)
    if letter == "D":
        return Suspect(worker.number, worker.pid, "culprit", "process state D: stuck in the kernel", state, letter)
    if state.beat_age is None or state.beat_age > _SILENT_SECONDS:
        age = "never beat" if state.beat_age is None else f"last beat {state.beat_age:.2f} s ago"
        return Suspect(worker.number, worker.pid, "culprit", f"{age}: it does not run", state, letter)
    return Suspect(worker.number, worker.pid, "victim", "beats, and waits", state, letter, runs=True)


def _behind(suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Where all workers run, return as culprits those that have got less far than the first: the others wait for them,
    because all do the same steps."""
    waiting = [suspect for suspect in suspects if suspect.role == "victim"]
    if any(suspect.role == "culprit" for suspect in suspects) or not waiting:
        return suspects
    ahead = max(waiting, key=lambda suspect: suspect.state.progress).state
    return tuple(suspect if suspect not in waiting or suspect.state.progress == ahead.progress else
                 replace(suspect, role="culprit", why=f"beats, and is behind: {suspect.state.phase} after "
                         f"{suspect.state.progress} steps, the others are in {ahead.phase} after {ahead.progress}")
                 for suspect in suspects)


def _ended(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
