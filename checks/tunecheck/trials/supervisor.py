"""Run workers, watch that they get on, and come back whatever they do.

The parent never touches CUDA or NVML. It waits on memory and on pipes, always with a bound; what cannot be killed
(state D) is left behind and named. Evidence is taken *before* anything is killed: afterwards there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

from .beat import PHASES, Board, State

__all__ = ["Job", "Outcome", "Stall", "Supervisor", "Suspect"]

_POLL_SECONDS = 0.002
_BEATS = "beats"
#: After SIGKILL both ranks were gone within 78 to 199 ms on H200, with a kernel spinning.
_KILL_SECONDS = 5.0
#: A beat that old beside a parent that runs means: this process does not run.
_SILENT_SECONDS = 0.25
#: What the others get to end by themselves after one failed and said why.
_GRACE_SECONDS = 1.0
_MAX_RESULT = 4 * 1024 * 1024


@dataclass(frozen=True)
class Job:
    """One worker's job: ``name`` is "module:function"; ``parameters`` go to it as JSON, ``environment`` on top of the
    parent's, where None takes a variable away."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Suspect:
    """One worker at the moment of a stall. ``role``: culprit (does not run, or is gone), victim (runs and waits)."""

    worker: int
    pid: int
    role: str
    why: str
    state: State
    process_state: str

    @property
    def runs(self) -> bool:
        """Whether its process works: then what it waits for is the question, not what stopped it."""
        return self.why.startswith(_BEATS)


@dataclass(frozen=True)
class Stall:
    """``after`` is how long the slowest worker had made no progress, in seconds; ``evidence`` what was collected."""

    phase: str
    after: float
    suspects: tuple[Suspect, ...]
    evidence: Mapping[str, Any]

    def role(self, role: str) -> tuple[int, ...]:
        return tuple(suspect.worker for suspect in self.suspects if suspect.role == role)


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``results`` by worker; ``codes`` are exit codes, None for one that was left behind (then its
    pid is in ``abandoned`` with where it hangs); ``seconds`` is wall time."""

    results: tuple[tuple[dict[str, Any], ...], ...]
    codes: tuple[int | None, ...]
    stall: Stall | None
    abandoned: Mapping[int, str]
    errors: tuple[str, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """Every worker did its job to the end."""
        return self.stall is None and all(code == 0 for code in self.codes)


class _Worker:
    def __init__(self, number: int, job: Job, board: Board) -> None:
        self.number = number
        self.results: list[dict[str, Any]] = []
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe that nobody reads would block it
        self._rest = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tunecheck.trials.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.stderr, start_new_session=True, pass_fds=(board.descriptor,),
            env={name: value for name, value in {**os.environ, **job.environment}.items() if value is not None})
        assert self.process.stdin is not None and self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        line = json.dumps({**job.parameters, "job": job.name, "worker": number, "beat": board.descriptor})
        with contextlib.suppress(BrokenPipeError):      # it died at once: seen by its exit code
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def collect(self) -> None:
        """Take what lies in the pipe; never waits."""
        assert self.process.stdout is not None
        while len(self._rest) < _MAX_RESULT:
            try:
                part = os.read(self.process.stdout.fileno(), 1 << 16)
            except (BlockingIOError, OSError):
                break
            if not part:
                break
            self._rest += part
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    self.results.append(found)

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - 4000))
        return self.stderr.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.stderr.close()


class Supervisor:
    """``limits`` overrides seconds of phases; ``evidence`` is called with the suspects before anything is killed, and
    has to come back by itself (it gets a deadline in seconds); ``progress`` is called now and then with the states."""

    def __init__(self, limits: Mapping[str, float] | None = None,
                 evidence: Callable[[Sequence[Suspect], float], Mapping[str, Any]] | None = None,
                 progress: Callable[[Sequence[State]], None] | None = None, evidence_seconds: float = 5.0) -> None:
        self._limits = {**PHASES, **(limits or {})}
        self._evidence = evidence
        self._progress = progress
        self._evidence_seconds = evidence_seconds

    def run(self, jobs: Sequence[Job], seconds: float) -> Outcome:
        """Run all jobs at once to their end, at most ``seconds`` in all. Ctrl-C: everything is killed, then raised."""
        began = time.monotonic()
        board = Board(len(jobs))
        workers: list[_Worker] = []
        abandoned: dict[int, str] = {}
        stall: Stall | None = None
        try:
            for number, job in enumerate(jobs):
                workers.append(_Worker(number, job, board))
            stall = self._watch(workers, board, began + seconds)
        finally:
            # Never a wait without a bound, not even here.
            abandoned = kill([worker.process for worker in workers])
            for worker in workers:
                worker.collect()
            board.close()
        codes = tuple(None if worker.pid in abandoned else worker.process.returncode for worker in workers)
        errors = tuple(worker.said() for worker in workers)
        for worker in workers:
            worker.close()
        return Outcome(tuple(tuple(worker.results) for worker in workers), codes, stall, abandoned, errors,
                       time.monotonic() - began)

    def _watch(self, workers: Sequence[_Worker], board: Board, until: float) -> Stall | None:
        """Until all have ended, or one does not get on. A worker that failed ends the run of the others as well."""
        shown = time.monotonic()
        first_failure: float | None = None
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
            late_failure = first_failure is not None and now - first_failure > _GRACE_SECONDS
            # One that failed and said why is no stall of the others; one that was killed is, and nobody has to wait for
            # the limit of the phase to know that.
            if late_failure and all(worker.process.returncode == 1 for worker in failed):
                return None
            if stuck or late_failure or now >= until:
                return self._stall(workers, board, now >= until)
            if self._progress is not None and now - shown >= 1.0:
                self._progress([board.state(worker.number) for worker in workers])
                shown = now
            poller.poll(_POLL_SECONDS * 1000)

    def _stuck(self, state: State) -> bool:
        return state.progress_age is not None and state.progress_age > self._limits[state.phase]

    def _stall(self, workers: Sequence[_Worker], board: Board, late: bool) -> Stall:
        suspects = tuple(self._suspect(worker, board.state(worker.number)) for worker in workers)
        if not late:        # else they may all get on, and one is behind at this moment only
            suspects = _behind(suspects)
        waiting = [suspect for suspect in suspects if suspect.process_state != "gone"]
        slowest = max(waiting or suspects, key=lambda suspect: suspect.state.progress_age or 0.0)
        evidence: Mapping[str, Any] = {}
        if self._evidence is not None:
            try:
                evidence = self._evidence(suspects, self._evidence_seconds)
            except Exception as error:      # evidence that cannot be had is no reason to lose the stall
                evidence = {"error": f"{type(error).__name__}: {error}"}
        return Stall("time limit" if late else slowest.state.phase, slowest.state.progress_age or 0.0, suspects,
                     evidence)

    @staticmethod
    def _suspect(worker: _Worker, state: State) -> Suspect:
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
        return Suspect(worker.number, worker.pid, "victim", f"{_BEATS}, and waits", state, letter)


def _behind(suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Where all run: the others wait for the one that has got less far, because all do the same steps."""
    waiting = [suspect for suspect in suspects if suspect.role == "victim"]
    if any(suspect.role == "culprit" for suspect in suspects) or not waiting:
        return suspects
    ahead = max(waiting, key=lambda suspect: suspect.state.progress).state
    return tuple(suspect if suspect not in waiting or suspect.state.progress == ahead.progress else
                 replace(suspect, role="culprit", why=f"{_BEATS}, and is behind: {suspect.state.phase} after "
                         f"{suspect.state.progress} steps, the others are in {ahead.phase} after {ahead.progress}")
                 for suspect in suspects)


def _ended(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def process_state(pid: int) -> str:
    """The letter of /proc/<pid>/stat, or "gone"."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "gone"


def kill(processes: Sequence[subprocess.Popen[bytes]]) -> dict[int, str]:
    """SIGKILL every session that still runs; wait a bounded time. Returns pid -> where it hangs, for those left."""
    left = [process for process in processes if process.poll() is None]
    for process in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)      # start_new_session made pid the group's id
    until = time.monotonic() + _KILL_SECONDS
    while left and time.monotonic() < until:
        left = [process for process in left if process.poll() is None]
        time.sleep(0.002)
    abandoned = {}
    for process in left:
        abandoned[process.pid] = f"state {process_state(process.pid)}, {_wchan(process.pid)}"
        # Nobody must ever wait for this one again, not even subprocess' own clean-up at exit.
        process.returncode = -signal.SIGKILL
    return abandoned


def _wchan(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/wchan") as stream:
            return f"in {stream.read().strip() or 'unknown kernel function'}"
    except OSError:
        return "kernel function unknown"
