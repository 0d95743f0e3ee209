"""A forked child that may hang in the kernel, where SIGKILL has no effect: killed, waited for briefly, abandoned."""

from __future__ import annotations

import os
import signal
import time

__all__ = ["Child", "let_go_of_everything_but"]


class Child:
    """The parent's view of it. ``status`` is its exit code once it is gone, -N where signal N ended it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reaped(self) -> bool:
        """Whether it is gone; never blocks."""
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
        """Wait so long for its end, at most."""
        until = time.monotonic() + seconds
        while not self.reaped():
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)
        return True

    def kill(self) -> str:
        """SIGKILL, without waiting for what never ends. Returns what became of it, for the reason."""
        if self.reaped():
            return ""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return ""
        # An ordinary process is gone within milliseconds.
        return "" if self.ended_within(0.2) else f"; process {self.pid} cannot be killed and was left behind"


def let_go_of_everything_but(kept: int) -> None:
    """For the child. One that is stuck in the kernel keeps what it holds: with our standard output among it, the pipe
    to Ansible or to `| less` would never see its end."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        if descriptor != kept:
            os.dup2(null, descriptor)
    os.closerange(3, kept)
    os.closerange(max(3, kept + 1), min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
