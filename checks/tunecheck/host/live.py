"""The machine this process runs on."""

from __future__ import annotations

import os
import posixpath
import signal
import time
from typing import IO, TYPE_CHECKING, Any

from .base import Completed, Unreadable
from .reader import MAX_BYTES, Reader, reason_for

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = ["LiveHost"]

#: Programs say their messages in English, and administration tools are found also without a login shell.
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class LiveHost:
    """Reads through one child process, commands in their own session; neither is ever waited for without a bound.

    ``read_deadline`` is in seconds. A directory in which one read timed out is not tried again: eight hung GPUs with
    ten attributes each must not cost eighty deadlines."""

    def __init__(self, read_deadline: float = 5.0) -> None:
        self._deadline = read_deadline
        self._reader: Reader | None = None
        self._abandoned: list[Reader] = []
        self._hung: set[str] = set()

    def read_bytes(self, path: str) -> bytes:
        return self._ask(b"r", path)

    def list(self, path: str) -> list[str]:
        answer = self._ask(b"l", path)
        return [os.fsdecode(name) for name in answer.split(b"\0")] if answer else []

    def realpath(self, path: str) -> str:
        return os.fsdecode(self._ask(b"p", path))

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._abandoned = [reader for reader in self._abandoned if not reader.reaped()]

    def _ask(self, operation: bytes, path: str) -> bytes:
        folder = posixpath.dirname(path)
        if folder in self._hung:
            raise Unreadable(path, "not read: an earlier read in this directory timed out")
        if self._reader is None:
            self._reader = Reader()
        try:
            return self._reader.ask(operation, path, self._deadline)
        except TimeoutError:
            self._hung.add(folder)
            raise Unreadable(path, f"timed out after {self._deadline:g} s{self._abandon()}") from None
        except ChildProcessError:
            self._abandon()
            raise Unreadable(path, "the process that was reading it got killed") from None

    def _abandon(self) -> str:
        reader, self._reader = self._reader, None
        if reader is None:
            return ""
        self._abandoned.append(reader)
        return reader.abandon()

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        import subprocess  # only where a command is really run: start-up time

        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True, env={**os.environ, **_ENVIRONMENT})
        except OSError as error:
            raise Unreadable(argv[0], reason_for(error)) from None
        with _Pipes(process) as (stdout, stderr):
            output = {stdout.fileno(): bytearray(), stderr.fileno(): bytearray()}
            try:
                finished = _collect(process, output, time.monotonic() + deadline)
            except BaseException:       # Ctrl-C: leave nothing running
                _kill(process)
                raise
            if not finished:
                raise Unreadable(argv[0], f"timed out after {deadline:g} s{_kill(process)}")
            for part in output.values():
                _leave_out_middle(part)
            texts = [bytes(part).decode("utf-8", "replace") for part in output.values()]
        return Completed(tuple(argv), process.returncode, texts[0], texts[1])

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        raise Unreadable("NVML", "not read by this version")

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Nothing is started early yet."""


class _Pipes:
    """Both pipes of a process, closed at the end whatever became of it."""

    def __init__(self, process: Popen[bytes]) -> None:
        assert process.stdout is not None and process.stderr is not None
        self._streams: tuple[IO[bytes], IO[bytes]] = (process.stdout, process.stderr)

    def __enter__(self) -> tuple[IO[bytes], IO[bytes]]:
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
        return self._streams

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()


def _collect(process: Popen[bytes], output: dict[int, bytearray], until: float) -> bool:
    """Read until the process has ended and both pipes are drained. False: the deadline passed first.

    The end of the *process* counts, not of the pipes: a grandchild that left for its own session may hold them."""
    import select

    poller = select.poll()
    open_pipes = set(output)
    for descriptor in open_pipes:
        poller.register(descriptor, select.POLLIN)
    while True:
        ended = process.poll() is not None
        # Once it has ended, whatever it wrote lies in the pipes already: one look without waiting is enough.
        # Without any pipe left, poll() is no more than a sleep.
        ready = poller.poll(0 if ended else 20)
        for descriptor, _ in ready:
            chunk = _chunk(descriptor)
            if not chunk:
                poller.unregister(descriptor)
                open_pipes.discard(descriptor)
            else:
                output[descriptor] += chunk
                if len(output[descriptor]) > 2 * MAX_BYTES:
                    _leave_out_middle(output[descriptor])
        if ended and not ready:
            return True
        if time.monotonic() >= until:
            return ended


def _leave_out_middle(output: bytearray) -> None:
    """A runaway log: what it began with and what came last count, and that something is missing."""
    if len(output) > MAX_BYTES:
        from ..formats.log_lines import HEAD, LEFT_OUT

        output[HEAD:len(output) - MAX_BYTES + HEAD] = f"\n{LEFT_OUT}\n".encode()


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""


def _kill(process: Popen[bytes]) -> str:
    """SIGKILL the whole session, wait at most a second, else abandon. Returns what is left, for the reason."""
    _signal_group(process.pid)
    until = time.monotonic() + 1.0
    while process.poll() is None:
        if time.monotonic() >= until:
            state = _state(process.pid)
            # Nobody must ever wait for this one again, not even subprocess' own clean-up at exit.
            process.returncode = -signal.SIGKILL
            return f"; pid {process.pid} left in state {state}"
        time.sleep(0.02)
    return ""


def _signal_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)      # start_new_session made pid the group's id
    except (ProcessLookupError, PermissionError):
        return


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "unknown"
