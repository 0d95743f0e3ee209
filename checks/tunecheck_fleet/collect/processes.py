"""Ending everything that an audit started.

Ansible's workers each make a session of their own, so no process group holds them all. They inherit the environment:
whatever carries this run's folder in it is ours, also where its parent is gone."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil  # 5 MiB, so not before the asking is over: an audit takes most memory while it asks

__all__ = ["MARK", "alive", "end"]

#: The variable whose value is the run's folder.
MARK = "TUNECHECK_RUN"


def alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid)


def end(run: str, within: float = 5.0) -> int:
    """Kill every process of that run; how many are left after ``within`` seconds (in state D)."""
    import psutil

    until = time.monotonic() + within
    while found := _of(run):
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        if time.monotonic() > until:
            return len(found)
        time.sleep(0.02)
    return 0


def _of(run: str) -> list[psutil.Process]:
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
