"""The processes of an engine: names and states, of as many as a look may cost. They are those of its control group, and
all that descend from its main process."""

from __future__ import annotations

import contextlib
import os
import time

from ..errors import ProbeError
from ..host import Host, Unreadable
from ..model.absence import Absence
from ..util.at_first_use import dataclass
from .model import Process, Run

__all__ = ["Stat", "began", "belongs", "of_group", "of_run", "process", "stat"]

_CGROUPS = "/sys/fs/cgroup"
_MOST_GROUPS, _MOST_PROCESSES = 200, 2000
#: So many processes of a box are looked at, and so many generations.
_MOST_OF_ALL, _MOST_PARENTS = 20_000, 64
#: include/linux/sched.h.
_PF_KTHREAD = 0x00200000


@dataclass(frozen=True)
class Stat:
    """/proc/PID/stat. ``state`` and ``started`` as of Process."""

    name: str
    state: str
    parent: int
    kernel: bool
    started: str


def stat(host: Host, pid: int) -> Stat | None:
    """Return None where this is no such text. Unreadable as of Host.read_bytes."""
    head, found, rest = host.read_bytes(f"/proc/{pid}/stat").decode("utf-8", "replace").rpartition(") ")
    words = rest.split()
    if not found or not words:
        return None
    return Stat(head.partition("(")[2], words[0][:1], _number(words, 1), bool(_number(words, 6) & _PF_KTHREAD),
                "".join(words[19:20]))


def _number(words: list[str], place: int) -> int:
    word = "".join(words[place:place + 1])
    return int(word) if word.isascii() and word.isdigit() and len(word) < 20 else 0


def process(host: Host, pid: int) -> Process | None:
    """None where there is none. One that cannot be read has no state: nobody knows whether it lives."""
    try:
        found = stat(host, pid)
    except ProbeError as error:
        return None if isinstance(error, Unreadable) and error.absence is Absence.NOT_PRESENT else Process(pid, "", "")
    return Process(pid, "", "") if found is None else _process(pid, found)


def _process(pid: int, found: Stat) -> Process:
    return Process(pid, found.name, found.state, started=found.started)


def began(started: str) -> float | None:
    """The monotonic time of these clock ticks after the boot; None where they are none."""
    if not (started.isascii() and started.isdigit() and len(started) < 20):
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age


def of_run(host: Host, run: Run) -> tuple[Process, ...]:
    """All processes of the engine that can be read."""
    found = {each.pid: each for each in (*of_group(host, run.cgroup), *_descendants(host, run))}
    return tuple(found.values())[:_MOST_PROCESSES]


def belongs(host: Host, pid: int, run: Run) -> bool:
    """Whether a process is one of the engine. Not where that cannot be read."""
    return _in_group(host, pid, run.cgroup) or _descends(host, pid, run)


def of_group(host: Host, group: str) -> tuple[Process, ...]:
    """Those of the group that can be read, as systemd names it, and of the groups below it: a container has its
    own."""
    if not group.startswith("/") or ".." in group.split("/") or group == "/":
        return ()
    folders, pids = [f"{_CGROUPS}{group}"], list[int]()
    for folder in folders:
        try:
            pids += [int(pid) for pid in host.read_bytes(f"{folder}/cgroup.procs").split()]
            names = host.list(folder)
        except (ProbeError, ValueError):
            continue
        below = [f"{folder}/{name}" for name in names if name.endswith((".scope", ".service", ".slice"))
                 or name.startswith(("libpod-", "container", "crun-", "docker-"))]
        folders += below[:_MOST_GROUPS - len(folders)]
    found = [process(host, pid) for pid in pids[:_MOST_PROCESSES]]
    return tuple(each for each in found if each is not None and each.state)


def _in_group(host: Host, pid: int, group: str) -> bool:
    try:
        lines = host.read_bytes(f"/proc/{pid}/cgroup").decode("utf-8", "replace").splitlines() if group else []
    except ProbeError:
        return False
    places = [line.split(":", 2)[2] for line in lines if line.count(":") >= 2]
    return any(place == group or place.startswith(f"{group.rstrip('/')}/") for place in places)


def _descendants(host: Host, run: Run) -> list[Process]:
    """The main process and all below it, also those with a session of their own."""
    if not _is_main(host, run):
        return []
    try:
        names = host.list("/proc")
    except ProbeError:
        return []
    stats: dict[int, Stat] = {}
    for pid in [int(name) for name in names if name.isascii() and name.isdigit()][:_MOST_OF_ALL]:
        with contextlib.suppress(ProbeError):
            if (found := stat(host, pid)) is not None:
                stats[pid] = found
    children: dict[int, list[int]] = {}
    for pid, each in stats.items():
        children.setdefault(each.parent, []).append(pid)
    order = [run.main]
    for pid in order:
        order += children.pop(pid, ())
    return [_process(pid, stats[pid]) for pid in order if pid in stats]


def _descends(host: Host, pid: int, run: Run) -> bool:
    if not _is_main(host, run):
        return False
    for _ in range(_MOST_PARENTS):
        if pid == run.main:
            return True
        try:
            found = stat(host, pid)
        except ProbeError:
            return False
        if found is None or found.parent <= 1:
            return False
        pid = found.parent
    return False


def _is_main(host: Host, run: Run) -> bool:
    """Whether the main process is known, and is the same still: an id may be given again."""
    main = process(host, run.main) if run.started else None
    return main is not None and main.started == run.started
