"""The driver's two services, from files. A unit that runs has a control group; systemctl is not asked."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known
from ...util.at_first_use import dataclass

__all__ = ["Service", "active", "service", "services"]

_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system")
#: Unified and older hierarchy.
_GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
PERSISTENCED, FABRIC_MANAGER = "nvidia-persistenced.service", "nvidia-fabricmanager.service"


@dataclass(frozen=True)
class Service:
    """One unit of systemd. ``present``: a unit file is there; ``active``: it has a control group."""

    name: str
    present: Fact[bool]
    active: Fact[bool]


def services(host: Host, wanted: bool) -> dict[str, Service]:
    """Read nvidia-persistenced and nvidia-fabricmanager, by the name of their unit. Not ``wanted``: nothing is read."""
    nothing: Fact[bool] = absent("services", Absence.NOT_ASKED)
    return {unit: service(host, unit) if wanted else Service(unit, nothing, nothing)
            for unit in (PERSISTENCED, FABRIC_MANAGER)}


def service(host: Host, unit: str) -> Service:
    """Read one unit: whether its file is there, and whether it runs."""
    return Service(unit, _there(host, "realpath", [f"{folder}/{unit}" for folder in _UNITS]), active(host, unit))


def active(host: Host, unit: str) -> Fact[bool]:
    """Return whether the unit runs, which is so where it has a control group. The fact is unknown where none was found
    and a folder could not be looked at."""
    return _there(host, "list", [f"{folder}/{unit}" for folder in _GROUPS])


def _there(host: Host, operation: str, paths: list[str]) -> Fact[bool]:
    """Return whether one of the paths exists. Where none was found and one could not be asked for, the fact is
    unknown."""
    unread: Fact[bool] | None = None
    for path in paths:
        try:
            host.realpath(path) if operation == "realpath" else host.list(path)
        except Unreadable as error:
            if error.absence is not Absence.NOT_PRESENT:
                unread = unread or absent(path, error.reason)
        else:
            return known(True, path)
    return unread or known(False, paths[0])
