"""CPU frequency policies."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..host import Host, Unreadable
from .fact import Fact, absent, known, text

__all__ = ["Policy", "policies"]

_FOLDER = "/sys/devices/system/cpu/cpufreq"


@dataclass(frozen=True)
class Policy:
    """One policy (``policy0``): its scaling driver and governor, and the energy preference where the driver has one."""

    name: str
    driver: Fact[str]
    governor: Fact[str]
    epp: Fact[str]


def policies(host: Host) -> Fact[tuple[Policy, ...]]:
    """Every policy, in number order; an empty tuple where the kernel drives no frequency scaling."""
    try:
        names = [name for name in host.list(_FOLDER) if re.fullmatch(r"policy\d+", name)]
    except Unreadable as error:
        return known((), _FOLDER) if error.reason == "not present" else absent(_FOLDER, error.reason)
    names.sort(key=lambda name: int(name.removeprefix("policy")))
    return known(tuple(_policy(host, name) for name in names), _FOLDER)


def _policy(host: Host, name: str) -> Policy:
    driver, governor, epp = (text(host, f"{_FOLDER}/{name}/{leaf}") for leaf in (
        "scaling_driver", "scaling_governor", "energy_performance_preference"))
    return Policy(name, driver, governor, epp)
