"""A question whose answer may never come. It is asked in a forked child, looked at now and then, and dropped at its
deadline."""

from __future__ import annotations

import _thread
import os
import select
import signal
import time
from collections.abc import Callable

from ..util.tied import fork, tie
from .child import Child, let_go_of_everything_but

__all__ = ["MOST", "Question"]

MOST = 1 << 20
#: In seconds: the child keeps the deadline itself; one that hangs in the kernel does not.
_MORE = 1.0


class Question:
    """One question, under way. ``work`` runs in the child with the pipe to write to and the time to end at; the child
    has nothing else open. ``over`` never blocks; ``received`` waits, at most a second beyond the deadline. OSError
    where no process can be started."""

    def __init__(self, work: Callable[[int, float], None], deadline: float) -> None:
        self._until = time.monotonic() + deadline
        self._pipe, theirs = os.pipe()
        parent = os.getpid() if _thread.get_native_id() == os.getpid() else 0
        try:
            child = fork()
        except OSError:
            os.close(self._pipe)
            os.close(theirs)
            raise
        if child == 0:
            _child(work, theirs, parent, self._until)       # never returns
        os.close(theirs)
        os.set_blocking(self._pipe, False)
        self._child, self._received, self._done = Child(child), bytearray(), False

    @property
    def over(self) -> bool:
        """Whether the answer is here, or none will come. Never blocks."""
        while not self._done:
            try:
                part = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                self._done = time.monotonic() > self._until + _MORE
                break
            self._received += part
            self._done = not part or len(self._received) > MOST + 2
        return self._done

    def received(self) -> bytes:
        """Wait until the question is over and return all that came. The child is ended."""
        while not self.over:
            select.select([self._pipe], [], [], 0.2)
        self.close()
        return bytes(self._received)

    def close(self) -> None:
        """End the child. A child that cannot be killed is left behind."""
        self._done = True
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        self._child.kill()


def _child(work: Callable[[int, float], None], pipe: int, parent: int, until: float) -> None:
    try:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if parent:
            tie(parent)
        let_go_of_everything_but(pipe)
        work(pipe, until)
    finally:
        os._exit(0)
