"""Processes that end with the one that started them, however that ends: SIGKILL and the OOM killer run no clean-up."""

from __future__ import annotations

import _thread
import os
import signal
from collections.abc import Callable

__all__ = ["fork", "tie", "tied"]

_PR_SET_PDEATHSIG = 1


def fork() -> int:
    """os.fork() that Ctrl-C and SIGTERM do not interrupt half-way: Python's own clean-up after a fork would print a
    traceback. The child ignores Ctrl-C, which reaches the whole foreground group, and ends at SIGTERM: the rest is the
    parent's business."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def tied() -> Callable[[], None] | None:
    """What Popen runs in the child before the program. None in a thread other than the main one: the kernel would send
    the signal when the thread ends that started the child (prctl(2))."""
    if _thread.get_native_id() != os.getpid():
        return None
    import ctypes

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie_it() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:      # it ended in between
            os._exit(1)

    return tie_it


def tie(parent: int) -> None:
    """For a child that was forked and runs on in this program."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
