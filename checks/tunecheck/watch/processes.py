"""The processes of a unit, by its control group: names and states, of as many as a look may cost."""

from __future__ import annotations

from ..errors import ProbeError
from ..host import Host, Unreadable
from ..model.absence import Absence
from .model import Process

__all__ = ["in_group", "of_group", "process"]

_CGROUPS = "/sys/fs/cgroup"
_MOST_GROUPS, _MOST_PROCESSES = 200, 2000


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


def in_group(host: Host, pid: int, group: str) -> bool:
    """Whether a process is in the group or below it. Not where that cannot be read."""
    try:
        lines = host.read_bytes(f"/proc/{pid}/cgroup").decode("utf-8", "replace").splitlines()
    except ProbeError:
        return False
    places = [line.split(":", 2)[2] for line in lines if line.count(":") >= 2]
    return bool(group) and any(place == group or place.startswith(f"{group.rstrip('/')}/") for place in places)


def process(host: Host, pid: int) -> Process | None:
    """None where there is none. One that cannot be read has no state: nobody knows whether it lives."""
    try:
        stat = host.read_bytes(f"/proc/{pid}/stat").decode("utf-8", "replace")
    except ProbeError as error:
        return None if isinstance(error, Unreadable) and error.absence is Absence.NOT_PRESENT else Process(pid, "", "")
    head, found, rest = stat.rpartition(") ")
    if not found:
        return Process(pid, "", "")
    return Process(pid, head.partition("(")[2], rest[:1], started="".join(rest.split()[19:20]))
