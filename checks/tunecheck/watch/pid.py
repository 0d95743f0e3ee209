"""An engine that somebody started by hand: a process, and all that descend from it."""

from __future__ import annotations

import os
from enum import Enum

from ..errors import Misuse, ProbeError, UsageError
from ..host import Host, Unreadable
from ..host.exists import exists
from ..model.absence import Absence
from .codes import Code, Reason
from .processes import Stat, began, process, stat
from .run import Phase, Run

__all__ = ["NoEngine", "Pid", "process_of"]

#: Greater ones the kernel does not give (include/linux/threads.h).
_MOST = 1 << 22
_EXPECTED = "expected the number of the engine's first process, as pgrep -af vllm shows it"


class NoEngine(Enum):
    """Why a process that is there is not watched."""

    #: The first of this machine: everything descends from it.
    FIRST = "first"
    KERNEL_THREAD = "kernel-thread"
    #: The watch itself, or a process that the watch descends from.
    OURSELVES = "ourselves"
    #: A thread of another process.
    THREAD = "thread"


class Pid:
    """``found``: as the process was when the watch began. Its number may be given to another one later."""

    def __init__(self, host: Host, pid: int, found: Stat) -> None:
        self._host, self._pid, self._started = host, pid, found.started
        self._entered = began(found.started)
        self._ended = False

    def run(self) -> Run:
        now = process(self._host, self._pid)
        if now is not None and not now.state:
            return Run(Phase.UNREAD)        # nothing to tell of one look: its end is seen in the next one
        self._ended = self._ended or now is None or now.started != self._started or now.state in "ZX"
        if self._ended:
            return Run(Phase.ENDED, Reason(Code.PROCESS_ENDED, str(self._pid)))
        return Run(Phase.RUNS, main=self._pid, started=self._started, entered=self._entered,
                   invocation=f"{self._pid}/{self._started}")


def process_of(host: Host, text: str) -> Pid:
    """Return the process of this number. UsageError where it cannot be watched."""
    pid = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 0 < pid <= _MOST:
        raise UsageError(f"--pid {text[:60]}: is no number of a process; {_EXPECTED}", Misuse.MALFORMED)
    if pid == 1:
        raise UsageError(f"--pid 1: is the first process, and all others descend from it; {_EXPECTED}", NoEngine.FIRST)
    found, group = _read(host, pid)
    if group != pid:
        raise UsageError(f"--pid {pid}: is a thread of process {group}; give --pid {group}", NoEngine.THREAD)
    if found.kernel:
        raise UsageError(f"--pid {pid}: is a thread of the kernel ({found.name}), and no engine; {_EXPECTED}",
                         NoEngine.KERNEL_THREAD)
    if found.state in "ZX":
        raise UsageError(f"--pid {pid}: {found.name} has ended already, and its parent ({found.parent}) has not taken "
                         f"note of it; {_EXPECTED}", Misuse.OVER)
    if pid in _above(host):
        raise UsageError(f"--pid {pid}: {found.name} is the watch itself, or has started it, so the watch would count "
                         f"as the engine; {_EXPECTED}", NoEngine.OURSELVES)
    return Pid(host, pid, found)


def _read(host: Host, pid: int) -> tuple[Stat, int]:
    """Its stat, and the process that it belongs to."""
    why = f"--pid {pid}: cannot be read"
    try:
        found = stat(host, pid)
        lines = host.read_bytes(f"/proc/{pid}/status").decode("utf-8", "replace").splitlines()
        group = next(line.split()[1] for line in lines if line.startswith("Tgid:"))
        if found is not None and found.started:
            return found, int(group)
    except Unreadable as error:
        if error.absence is Absence.NOT_PRESENT and not exists(pid):
            raise UsageError(f"--pid {pid}: there is no such process; {_EXPECTED}", Misuse.NO_SUCH) from None
        if error.absence in (Absence.NOT_PRESENT, Absence.NO_PERMISSION):
            raise UsageError(f"{why}: it is another user's, and /proc shows that only to its user and root (hidepid); "
                             "run as root", Misuse.UNREADABLE) from None
        why = f"{why} ({error.reason})"
    except (ProbeError, StopIteration, ValueError, IndexError):
        pass
    raise UsageError(f"{why}; try again, or run as root", Misuse.UNREADABLE)


def _above(host: Host) -> set[int]:
    """This process, and those that it descends from."""
    found, pid = set[int](), os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            parent = stat(host, pid)
        except ProbeError:
            break
        pid = parent.parent if parent is not None else 0
    return found
