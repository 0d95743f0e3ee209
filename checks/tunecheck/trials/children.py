"""Worker processes: started, read from and killed, and never waited for without a bound."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..util.tied import start
from .heartbeat import Board

__all__ = ["Job", "Worker", "kill", "process_state"]

#: After SIGKILL both ranks were gone within 78 to 199 ms on H200, with a kernel spinning.
_KILL_SECONDS = 5.0
_MAX_RESULT = 4 * 1024 * 1024


@dataclass(frozen=True)
class Job:
    """One worker's job. ``name`` is "module:function"; ``parameters`` go to it as JSON; ``environment`` is added to the
    parent's, where None takes a variable away."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)


class Worker:
    """A job that runs in a session of its own; its results and what it said are collected without waiting."""

    def __init__(self, number: int, job: Job, board: Board) -> None:
        self.number = number
        self.job = job
        self.results: list[dict[str, Any]] = []
        self.stderr = _scratch()        # a pipe that nobody reads would block it
        self._rest = b""
        self.process = start(
            [sys.executable, "-m", "tunecheck.trials.workers.worker", job.name], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.stderr, pass_fds=(board.descriptor,),
            env={name: value for name, value in {**os.environ, **job.environment}.items() if value is not None})
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._board = board.descriptor

    def begin(self) -> None:
        """Hand over the job: until now the worker only loads its code, and touches no GPU."""
        assert self.process.stdin is not None
        line = json.dumps({**self.job.parameters, "worker": self.number, "beat": self._board})
        with contextlib.suppress(BrokenPipeError):      # it died at once: seen by its exit code
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def collect(self) -> None:
        """Read what the worker has written so far; never waits."""
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

    def error_output(self) -> str:
        """Return the end of what the worker wrote to standard error, at most 4000 bytes."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - 4000))
        return self.stderr.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()      # of one that never began
        self.process.stdout.close()
        self.stderr.close()


def _scratch() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError:     # every disk is full
        return os.fdopen(os.memfd_create("tunecheck-said"), "w+b")


def process_state(pid: int) -> str:
    """Return the letter of the process' state in /proc/<pid>/stat, or "gone"."""
    return _letter(f"/proc/{pid}/stat")


def _letter(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "gone"


def kill(processes: Sequence[subprocess.Popen[bytes]]) -> dict[int, str]:
    """Send SIGKILL to every session that still runs, and wait a bounded time. Return pid -> where it hangs, for those
    that did not end."""
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
        abandoned[process.pid] = _where(process.pid)
        # Nobody must ever wait for this one again, not even subprocess' own clean-up at exit.
        process.returncode = -signal.SIGKILL
    return abandoned


def _where(pid: int) -> str:
    """Return the state of the first thread that is stuck and where, which need not be the main one (NCCL works in
    threads of its own). It reads only files that the kernel answers without the process' locks."""
    threads = [pid]
    with contextlib.suppress(OSError):
        threads += [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if int(task.name) != pid]
    letters = {thread: _letter(f"/proc/{pid}/task/{thread}/stat") for thread in threads}
    stuck = next((thread for thread in threads if letters[thread] == "D"), pid)
    inside = "" if stuck == pid else f" (thread {stuck})"
    return f"state {letters[stuck]}{inside}, {_function(f'/proc/{pid}/task/{stuck}')}"


def _function(task: str) -> str:
    """Return the kernel function in which a task sleeps. Not from its stack: that file waits for a lock of the task."""
    with contextlib.suppress(OSError), open(f"{task}/wchan") as stream:
        found = stream.read().strip()
        if found not in ("", "0"):
            return f"in {found}"
    return "kernel function unknown"
