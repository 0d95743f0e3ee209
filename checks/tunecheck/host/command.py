"""Runs one command in its own session: it is started, collected with a deadline, and never waited for without a
bound."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from ..model.absence import Absence
from ..util.tied import start
from .base import Completed, Unreadable
from .reader import MAX_BYTES, reason_for

__all__ = ["Command"]

#: Programs say their messages in English, and administration tools are found also without a login shell.
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Command:
    """A command that runs already. Where it could not be started, ``completed`` raises Unreadable."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv
        self.started = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, **_ENVIRONMENT})
        except OSError as error:
            self._failed = reason_for(error)

    def completed(self, deadline: float, until: float) -> Completed:
        """Wait for the command's end and return what it wrote. ``until`` is the time to stop at; Unreadable names
        ``deadline`` seconds then."""
        process = self._process
        if process is None:
            raise Unreadable(self._argv[0], self._failed)
        assert process.stdout is not None and process.stderr is not None
        output = {stream.fileno(): bytearray() for stream in (process.stdout, process.stderr)}
        for descriptor in output:
            os.set_blocking(descriptor, False)
        with self:
            finished = _collect(process, output, until)
            if not finished:
                raise Unreadable(self._argv[0], Absence.TIMED_OUT.because(
                    f"timed out after {deadline:g} s{_kill(process)}"))
        for part in output.values():
            _leave_out_middle(part)
        texts = [bytes(part).decode("utf-8", "replace") for part in output.values()]
        return Completed(tuple(self._argv), process.returncode, texts[0], texts[1])

    def close(self) -> None:
        """Kill the command where it still runs, and close its pipes."""
        if self._process is not None:
            if self._process.poll() is None:
                _kill(self._process)
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()        # also at Ctrl-C: leave nothing running


def _collect(process: subprocess.Popen[bytes], output: dict[int, bytearray], until: float) -> bool:
    """Read until the process has ended and both pipes are drained. Return False where ``until`` passed first.

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
    """Shorten an output that is longer than MAX_BYTES. Its beginning and its end stay, and a line says that something
    is missing between them."""
    if len(output) > MAX_BYTES:
        from ..parsers.text.log_lines import HEAD, LEFT_OUT

        output[HEAD:len(output) - MAX_BYTES + HEAD] = f"\n{LEFT_OUT}\n".encode()


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""


def _kill(process: subprocess.Popen[bytes]) -> str:
    """Send SIGKILL to the whole session and wait at most a second. Return "" where the process is gone, else a text for
    the reason that says in which state it was left."""
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
