"""Gives the paths of /sys that follow from `lscpu` and `numactl -H`."""

from __future__ import annotations

from collections.abc import Callable

from ...parsers.kernel.cpulist import show
from ...parsers.kernel.lscpu import parse_lscpu, parse_numactl

__all__ = ["from_lscpu", "from_numactl"]

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"


def from_lscpu(text: str, file: Callable[[str, str], None], longer: Callable[[str, str], None]) -> None:
    """Give ``file`` every path and content that the text tells. ``longer`` gets the lists of which the longer one
    counts, where another text tells them, too: the end of a line may be gone."""
    found = parse_lscpu(text)
    for name, cpus in (("online", found.online), ("present", found.present)):
        if cpus:
            file(f"{_CPU}/{name}", show(cpus))
    if (found.threads_per_core or 1) > 1:       # one thread per core may be many things
        file(f"{_CPU}/smt/control", "on")
    # A table from which a line is gone does not tell the nodes; without the line that counts them neither.
    if found.nodes and found.count == len(found.nodes):
        file(f"{_NODE}/online", show(found.nodes))
    for number, cpus in found.nodes.items():
        longer(f"{_NODE}/node{number}/cpulist", show(cpus) if cpus else "")
    busy = sorted(item for item in found.nodes.items() if item[1])
    for place, (_, cpus) in enumerate(busy):
        for index, cpu in enumerate(cpus if found.sockets else ()):
            # How many sockets there are is told, which CPU is on which follows: they are shared out evenly.
            share = (place + index / len(cpus)) / len(busy)
            file(f"{_CPU}/cpu{cpu}/topology/physical_package_id", str(int(share * (found.sockets or 1))))


def from_numactl(text: str, file: Callable[[str, str], None], longer: Callable[[str, str], None]) -> None:
    """Give ``file`` and ``longer`` the paths that the output of `numactl -H` tells, as from_lscpu does."""
    found = parse_numactl(text)
    if found.online:
        file(f"{_NODE}/online", show(found.online))
    for number, cpus in found.nodes.items():
        longer(f"{_NODE}/node{number}/cpulist", show(cpus) if cpus else "")
    if found.online and set(found.online) <= set(found.memory):
        file(f"{_NODE}/has_memory", show(node for node in found.online if found.memory[node]))
