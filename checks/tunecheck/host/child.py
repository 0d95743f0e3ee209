"""A forked child that may hang in the kernel, where SIGKILL has no effect. It is killed, waited for briefly, and left
behind where it does not end."""

from __future__ import annotations

import os
import signal
import time

__all__ = ["Child", "let_go_of_everything_but"]


class Child:
    """A child process as its parent sees it. ``status`` is its exit code once it is gone, -N where signal N ended
    it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reaped(self) -> bool:
        """Return whether the child is gone. Never blocks."""
        if self.status is not None:
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def ended_within(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the child's end. Return whether it is gone."""
        until = time.monotonic() + seconds
        while not self.reaped():
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)
        return True

    def kill(self) -> str:
        """Send SIGKILL, and do not wait for a child that never ends. Return "" where it is gone, else a text for the
        reason that says that it was left behind."""
        if self.reaped():
            return ""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return ""
        # An ordinary process is gone within milliseconds.
        return "" if self.ended_within(0.2) else f"; process {self.pid} cannot be killed and was left behind"


def let_go_of_everything_but(kept: int) -> None:
    """Close every file of the child but ``kept``. A child that is stuck in the kernel keeps what it holds: with our
    standard output among it, the pipe to Ansible or to `| less` would never see its end."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        if descriptor != kept:
            os.dup2(null, descriptor)
    os.closerange(3, kept)
    os.closerange(max(3, kept + 1), min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
