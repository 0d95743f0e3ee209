"""The paths of /sys that follow from `lscpu` and `numactl -H`."""

from __future__ import annotations

from collections.abc import Callable

from ..formats.cpulist import show
from ..formats.lscpu import parse_lscpu, parse_numactl

__all__ = ["from_lscpu", "from_numactl"]

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"


def from_lscpu(text: str, file: Callable[[str, str], None]) -> None:
    """Give ``file`` every path and content that the text tells."""
    found = parse_lscpu(text)
    for name, cpus in (("online", found.online), ("present", found.present)):
        if cpus:
            file(f"{_CPU}/{name}", show(cpus))
    if (found.threads_per_core or 1) > 1:       # one thread per core may be many things
        file(f"{_CPU}/smt/control", "on")
    if found.nodes:
        file(f"{_NODE}/online", show(found.nodes))
    for place, (number, cpus) in enumerate(sorted(found.nodes.items())):
        file(f"{_NODE}/node{number}/cpulist", show(cpus) if cpus else "")
        for index, cpu in enumerate(cpus if found.sockets else ()):
            # How many sockets there are is told, which CPU is on which follows: they are shared out evenly.
            share = (place + index / len(cpus)) / len(found.nodes)
            file(f"{_CPU}/cpu{cpu}/topology/physical_package_id", str(int(share * (found.sockets or 1))))


def from_numactl(text: str, file: Callable[[str, str], None]) -> None:
    """Give ``file`` every path and content that the text tells."""
    found = parse_numactl(text)
    if found.online:
        file(f"{_NODE}/online", show(found.online))
    for number, cpus in found.nodes.items():
        file(f"{_NODE}/node{number}/cpulist", show(cpus) if cpus else "")
    if found.online and set(found.online) <= set(found.memory):
        file(f"{_NODE}/has_memory", show(node for node in found.online if found.memory[node]))
