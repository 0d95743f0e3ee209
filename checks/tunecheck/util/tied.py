"""Starts processes that end with the one that started them, however that ends: SIGKILL and the OOM killer run no
clean-up."""

from __future__ import annotations

import _thread
import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

__all__ = ["fork", "start", "tie"]

_PR_SET_PDEATHSIG = 1
_ENDING = {signal.SIGINT, signal.SIGTERM}


def fork() -> int:
    """Fork as os.fork() does, but not to be interrupted half-way by Ctrl-C and SIGTERM: Python's own clean-up after a
    fork would print a traceback. The child ignores Ctrl-C, which reaches the whole foreground group, and ends at
    SIGTERM: the rest is the parent's business."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a program with subprocess.Popen in a session of its own; Ctrl-C and SIGTERM do not interrupt that half-way,
    as with fork(). It ends with this process where the main thread starts it: the kernel would send the signal when the
    thread ends that started the child (prctl(2))."""
    import subprocess

    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return subprocess.Popen(argv, start_new_session=True, preexec_fn=_beginning(before), **how)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _beginning(mask: set[Any]) -> Any:
    """Return the function that Popen runs in the child before the program."""
    import ctypes

    main = _thread.get_native_id() == os.getpid()
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def begin() -> None:
        # What came between fork and here was meant for the parent, too: the child ends without a word of Python's.
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        if main:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:      # it ended in between
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return begin


def tie(parent: int) -> None:
    """End this process when its parent ends. For a child that was forked and runs on in this program."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
