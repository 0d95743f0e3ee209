"""The driver's two services, from files: a unit that runs has a control group, whatever systemctl would say."""

from __future__ import annotations

from dataclasses import dataclass

from ..host import Host, Unreadable
from .fact import Fact, absent, known

__all__ = ["Service", "services"]

_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system")
#: Unified and older hierarchy.
_GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
PERSISTENCED, FABRIC_MANAGER = "nvidia-persistenced.service", "nvidia-fabricmanager.service"


@dataclass(frozen=True)
class Service:
    """``present``: a unit file is there; ``active``: it has a control group."""

    name: str
    present: Fact[bool]
    active: Fact[bool]


def services(host: Host, wanted: bool) -> dict[str, Service]:
    """Both services by the name of their unit."""
    return {unit: _service(host, unit, wanted) for unit in (PERSISTENCED, FABRIC_MANAGER)}


def _service(host: Host, unit: str, wanted: bool) -> Service:
    if not wanted:
        return Service(unit, absent(unit, "not asked for"), absent(unit, "not asked for"))
    return Service(unit, _there(host, "realpath", [f"{folder}/{unit}" for folder in _UNITS]),
                   _there(host, "list", [f"{folder}/{unit}" for folder in _GROUPS]))


def _there(host: Host, operation: str, paths: list[str]) -> Fact[bool]:
    """Whether one of them exists; unknown where one could not be asked for."""
    unread: Fact[bool] | None = None
    for path in paths:
        try:
            host.realpath(path) if operation == "realpath" else host.list(path)
        except Unreadable as error:
            if error.reason != "not present":
                unread = unread or absent(path, error.reason)
        else:
            return known(True, path)
    return unread or known(False, paths[0])
