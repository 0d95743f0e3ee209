"""Processes we start: tied to their owner, known by identity, stopped by identity, never by name."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def tie_to_parent() -> Callable[[], None]:
    """Return a `preexec_fn` after which the child is killed by the kernel when its owner ends."""
    owner = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != owner:  # the owner ended between fork and prctl
            os._exit(1)

    return tie


def start_ticks(pid: int) -> int | None:
    """Return the start time of `pid` in clock ticks since boot, None when it is gone or a zombie."""
    try:
        # The command name may hold spaces and brackets: the fields start after the last ")".
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_ours(pid: int, ticks: int, marker: str) -> bool:
    """Tell whether `pid` is still the process we started: same start time, `marker` among its arguments."""
    if start_ticks(pid) != ticks:
        return False
    try:
        return marker.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def kill(pid: int, ticks: int, marker: str, grace: float = 5.0) -> None:
    """End the process if it is ours: SIGTERM, then SIGKILL after `grace` seconds. No-op when it is gone."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Checked after the pidfd is held, so that a reused pid is never signalled.
        if not is_ours(pid, ticks, marker):
            return
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            signal.pidfd_send_signal(fd, number)
            if select.select([fd], [], [], seconds)[0]:
                break
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # our own child would stay a zombie


def run(argv: list[str], log: IO[bytes], env: dict[str, str] | None = None) -> int:
    """Run `argv` with its output in `log`; its whole process group ends with us, also on Ctrl-C."""
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True,
        preexec_fn=tie_to_parent(),
    )
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            stop_group(child)


def stop_group(child: subprocess.Popen[bytes]) -> None:
    """End the process group that `child` leads, and wait until no member is left."""
    for number, seconds in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            child.poll()
            try:
                os.killpg(child.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)


def kill_tree(pid: int) -> None:
    """End a process and all below it at once: one that is stuck passes no signal on to its children."""
    found = [pid]
    for each in found:      # grows while it is read
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text().split())
    for each in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ended_by: list[int] = []


def interruptible(watch_stdin: bool = False) -> None:
    """Turn SIGINT, SIGTERM, SIGHUP and, if asked, the end of stdin into one KeyboardInterrupt.

    One only: a second signal (make, an impatient user) would break off the clean-up that the first one started.
    """

    def raise_interrupt(number: int, _frame: object) -> None:
        for ending in _ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        ended_by.append(number)
        raise KeyboardInterrupt

    for number in _ENDINGS:
        signal.signal(number, raise_interrupt)
    if watch_stdin:
        # Under sudo the owner may not signal us; it holds our stdin open instead, and its end closes it.
        def watch() -> None:
            while os.read(0, 4096):
                pass
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
