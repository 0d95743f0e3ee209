"""CPU frequency policies."""

from __future__ import annotations

import re

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known, parsed
from ...parsers.kernel.cpulist import parse
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["Policy", "policies"]

_FOLDER = "/sys/devices/system/cpu/cpufreq"


@dataclass(frozen=True)
class Policy:
    """One policy (``policy0``): its scaling driver and governor, the energy preference where the driver has one, and
    the CPUs that it covers."""

    name: str
    driver: Fact[str]
    governor: Fact[str]
    epp: Fact[str]
    cpus: Fact[tuple[int, ...]]


def policies(host: Host, online: Fact[tuple[int, ...]]) -> Fact[tuple[Policy, ...]]:
    """Return every frequency policy, in number order. The tuple is empty where the kernel drives no frequency
    scaling."""
    try:
        names = [name for name in host.list(_FOLDER) if re.fullmatch(r"policy\d+", name)]
    except Unreadable as error:
        return known((), _FOLDER) if error.absence is Absence.NOT_PRESENT else absent(_FOLDER, error.reason)
    names.sort(key=lambda name: int(name.removeprefix("policy")))
    # A policy is named after its first CPU; where there is one for each, nothing more has to be asked.
    single = online.value is not None and [f"policy{cpu}" for cpu in online.value] == names
    return known(tuple(_policy(host, name, single) for name in names), _FOLDER)


def _policy(host: Host, name: str, single: bool) -> Policy:
    driver, governor, epp = (text(host, f"{_FOLDER}/{name}/{leaf}") for leaf in (
        "scaling_driver", "scaling_governor", "energy_performance_preference"))
    own = f"{_FOLDER}/{name}/affected_cpus"
    cpus: Fact[tuple[int, ...]] = known((int(name.removeprefix("policy")),), own) if single else parsed(
        text(host, own), lambda line: parse(line.replace(" ", ",")))
    return Policy(name, driver, governor, epp, cpus)
