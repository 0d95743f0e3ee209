"""How the accelerators relate, and which ports their peer traffic crosses."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from ...host import Host
from ...host.base import doubt
from ...model.fact import Absence, Fact, absent, absent_as, known
from ...parsers.pci.switch_chips import EMULATED
from ...parsers.pci.topology import relate, within
from ...util.at_first_use import dataclass
from ..file_text import text
from . import devices as pci
from .lower_ways import between, lower_ways
from .other_makers import Other, other_makers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .pcie_link import PcieLink

__all__ = ["Candidate", "Pair", "Topology", "topology"]

_NODES = "/sys/devices/system/node/online"


@dataclass(frozen=True)
class Pair:
    """Two accelerators ``a`` and ``b`` (indices in address order). ``common`` is the nearest common bridge, ``bridges``
    are the ports below it."""

    a: int
    b: int
    relation: Fact[str]
    common: str | None
    bridges: tuple[str, ...]

    @cached_property
    def label(self) -> str:
        return f"GPU{self.a}-GPU{self.b}"


@dataclass(frozen=True)
class Candidate:
    """A device that may be an accelerator: its ids cannot be read. ``why`` says why; ``path`` is its way from the root,
    itself last, empty where that is not known."""

    bdf: str
    why: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Topology:
    """The accelerators and the PCI tree above them. ``bridges`` holds every port above an accelerator, in address
    order; ``names`` are parallel to ``accelerators``. ``listed``: every device of NVIDIA's and of the spec's ids in the
    PCI tree, None where that cannot be listed; ``unlisted``: GPUs that the driver has and the tree has not. ``doubt``:
    why the tree may be less than there is, or ""; ``unidentified``: devices that may be accelerators, or not;
    ``others``: accelerators of other makers, which nothing judges."""

    accelerators: Fact[tuple[pci.Device, ...]]
    names: tuple[str, ...]
    bridges: dict[str, pci.Device]
    pairs: tuple[Pair, ...]
    listed: tuple[str, ...] | None = None
    unlisted: tuple[str, ...] = ()
    doubt: str = ""
    unidentified: tuple[Candidate, ...] = ()
    others: tuple[Other, ...] = ()

    @property
    def devices(self) -> tuple[pci.Device, ...]:
        return self.accelerators.value or ()

    @cached_property
    def certain(self) -> bool:
        """Whether the whole tree is known: each device is known to be an accelerator or none, and so is the way above
        each accelerator."""
        return (self.accelerators.value is not None and not self.doubt and not self.unidentified
                and all(device.chain.value is not None for device in self.devices))

    @cached_property
    def of_nvidia(self) -> tuple[tuple[int, str], ...]:
        """Number and address of each accelerator that is NVIDIA's."""
        return tuple((index, device.bdf) for index, device in enumerate(self.devices)
                     if device.ids.startswith("10de:"))

    @cached_property
    def _crossings(self) -> dict[str, list[Pair]]:
        # Many checks ask for each port; eight GPUs have 28 pairs and up to 40 ports.
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            for port in dict.fromkeys(pair.bridges):
                found.setdefault(port, []).append(pair)
        return found

    def crossing(self, port: str) -> list[Pair]:
        """Return the pairs whose peer traffic crosses ``port``."""
        return self._crossings.get(port, [])

    def groups(self, inside: str) -> list[list[int]] | None:
        """Return the accelerators' numbers in groups: two are in one group where a chain of pairs joins them whose
        relations are all ``inside`` or closer. None where the relation of some pair is unknown, as it might join two
        groups."""
        if any(pair.relation.value is None for pair in self.pairs):
            return None
        group = {number: [number] for number in range(len(self.devices))}
        for pair in self.pairs:
            if within(pair.relation.value or "", inside) and group[pair.a] is not group[pair.b]:
                joined = sorted(group[pair.a] + group[pair.b])
                group |= dict.fromkeys(joined, joined)
        return [numbers for first, numbers in group.items() if numbers[0] == first]

    @cached_property
    def _path_ports(self) -> tuple[str, ...]:
        return tuple(port for port in self.bridges if port in self._crossings)

    def path_ports(self) -> list[str]:
        """Return every port that some pair's peer traffic crosses, in address order."""
        return list(self._path_ports)

    def emulated(self, ports: Iterable[str]) -> str | None:
        """Return the first of these ports that QEMU made up. What is below it was given to a virtual machine, so that
        nothing tells of the real links there; None where there is none."""
        return next((port for port in ports if port in self.bridges and self.bridges[port].ids in EMULATED), None)

    @cached_property
    def links(self) -> dict[str, list[PcieLink]]:
        """The links from the root port down to each accelerator, by its address."""
        from .pcie_link import above

        return {device.bdf: above(self.bridges, device) for device in self.devices}

    def links_above(self, device: pci.Device) -> list[PcieLink]:
        """Return the links from the root port down to ``device``."""
        if device.bdf in self.links:
            return self.links[device.bdf]
        from .pcie_link import above

        return above(self.bridges, device)

    def uplinks(self) -> list[tuple[PcieLink, list[int]]]:
        """Return the links above switches, nearest to the root first, each with the accelerators (indices) below it."""
        found: dict[str, tuple[PcieLink, list[int]]] = {}
        for index, device in enumerate(self.devices):
            for each in self.links_above(device)[:-1]:
                found.setdefault(each.name, (each, []))[1].append(index)
        return sorted(found.values(), key=lambda item: len(item[0].lower.path))


def topology(host: Host, wanted: tuple[str, ...]) -> Topology:
    """Find the accelerators (``wanted``: their PCI ids), walk up to the root, relate every unordered pair."""
    found = pci.accelerators(host, wanted)
    devices = found.value or ()
    listed = pci.of_nvidia(host, wanted)
    lost = [device.bdf for device in devices if device.chain.value is None]
    ways = lower_ways(host, pci.listed(host) or (), lost) if len(lost) > 1 else {}
    above = {bdf for device in devices for bdf in device.path[:-1]} | {bdf for way in ways.values() for bdf in way}
    bridges = {bdf: pci.device(host, bdf) for bdf in sorted(above, key=pci.bdf_key)}
    nodes = _numa_nodes(text(host, _NODES)) if devices else 1
    pairs = tuple(_pair(a, b, devices, nodes, ways) for a, b in combinations(range(len(devices)), 2))
    there = set(listed or ())
    return Topology(found, tuple(pci.display_name(host, device) for device in devices), bridges, pairs, listed,
                    tuple(bdf for bdf in pci.of_the_driver(host) if listed is not None and bdf not in there),
                    doubt(host, pci.DEVICES), tuple(_candidate(host, fact) for fact in
                                                    pci.unidentified(host, wanted)),
                    other_makers(host, wanted))


def _candidate(host: Host, fact: Fact[str]) -> Candidate:
    bdf = fact.source.split("/")[-2]
    place = pci.device(host, bdf).chain.value
    return Candidate(bdf, fact.why(), place.devices if place else ())


def _pair(a: int, b: int, devices: tuple[pci.Device, ...], nodes: int, ways: dict[str, tuple[str, ...]]) -> Pair:
    left, right = devices[a], devices[b]
    for device in (left, right):
        if device.chain.value is None:
            return Pair(a, b, absent_as(device.chain), *between(ways.get(left.bdf, ()), ways.get(right.bdf, ())))
    assert left.chain.value and right.chain.value
    result = relate(left.chain.value, right.chain.value, left.numa_node.value, right.numa_node.value, nodes)
    source = f"{left.chain.source}, {right.chain.source}"
    fact: Fact[str] = known(result.word, source) if result.word else absent(
        source, Absence.NOT_DERIVABLE.because(result.reason or "not derivable"))
    return Pair(a, b, fact, result.common, result.bridges)


def _numa_nodes(online: Fact[str]) -> int:
    """Return the number of nodes in a list such as "0-1,4". 1 where the kernel knows no NUMA, 0 where it cannot be
    told."""
    if online.missing:
        return 1
    ranges = re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", online.value or "")
    return sum(max(0, int(last or first) - int(first)) + 1 for first, last in ranges)
