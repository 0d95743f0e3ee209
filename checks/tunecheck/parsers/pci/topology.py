"""How two PCI devices relate, from nothing but their sysfs paths and NUMA nodes.

The words are those of ``nvidia-smi topo -m`` and NVML's nvmlDeviceGetTopologyCommonAncestor(); the derivation
reproduces all 56 pairs of a real machine with eight GPUs behind four switches.
"""

from __future__ import annotations

from typing import Optional

from ...util.at_first_use import dataclass, regex
from .bdf import BDF

__all__ = ["RELATIONS", "Chain", "Relation", "chain", "path_bridges", "relate", "within"]

#: Best first. PIX: at most one switch; PXB: several switches; PHB: through the host bridge; NODE: between host
#: bridges of one NUMA node; SYS: between NUMA nodes.
RELATIONS = ("PIX", "PXB", "PHB", "NODE", "SYS")

_HOST_BRIDGE = regex(r"^pci[0-9a-f]{4,8}:[0-9a-f]{2}$")


@dataclass(frozen=True)
class Chain:
    """The way from the root to a device: ``bridge`` is the host bridge ("pci0000:00"), ``devices`` the addresses
    from the root port to the device itself."""

    bridge: str
    devices: "tuple[str, ...]"


@dataclass(frozen=True)
class Relation:
    """How two devices relate. ``word`` is one of RELATIONS, or None with a ``reason``. ``common`` is the nearest common
    bridge (None: only the host bridge or nothing), ``bridges`` every port that peer traffic crosses below it, a's side
    first."""

    word: Optional[str]
    reason: Optional[str]
    common: Optional[str]
    bridges: "tuple[str, ...]"


def chain(realpath: str) -> Chain:
    """Read a device's place from realpath(/sys/bus/pci/devices/<bdf>). ValueError for anything else."""
    parts = realpath.split("/")
    bridges = [part for part in parts if _HOST_BRIDGE.match(part)]
    devices = tuple(part for part in parts if BDF.match(part))
    if not bridges or not devices or not realpath.startswith("/"):
        raise ValueError("%r is not the sysfs path of a PCI device" % realpath[:200])
    # The last one: VMD puts a second host bridge (pci10000:e0) below an ordinary PCI device.
    below = parts[len(parts) - parts[::-1].index(bridges[-1]):]
    devices = tuple(part for part in below if BDF.match(part))
    if not devices:
        raise ValueError("%r names no PCI device below its host bridge" % realpath[:200])
    return Chain(bridges[-1], devices)


def path_bridges(a: Chain, b: Chain) -> "tuple[str, ...]":
    """Return the ports between two devices and their nearest common bridge: for PIX the two downstream ports, for PHB
    and worse everything up to both root ports. These are the ports whose ACS redirect bits decide."""
    shared = _shared(a, b)
    return a.devices[shared:-1] + b.devices[shared:-1]


def relate(a: Chain, b: Chain, numa_a: Optional[int], numa_b: Optional[int], numa_nodes: int) -> Relation:
    """Return the relation of two devices. ``numa_nodes`` is how many nodes the machine has; a device's node is None or
    negative where the firmware does not say."""
    shared = _shared(a, b)
    common = a.devices[shared - 1] if shared else None
    bridges = path_bridges(a, b)
    if len(a.devices) == 1 or len(b.devices) == 1:
        return Relation(None, "not derivable: an accelerator sits directly on the root bus, as in a virtual machine "
                              "that hides the real PCIe tree", common, bridges)
    if shared:
        longest = max(len(a.devices), len(b.devices)) - shared
        return Relation("PIX" if longest <= 2 else "PXB", None, common, bridges)
    if a.bridge == b.bridge:
        return Relation("PHB", None, None, bridges)
    known = numa_a is not None and numa_b is not None and numa_a >= 0 and numa_b >= 0
    if known or numa_nodes == 1:
        return Relation("NODE" if numa_nodes == 1 or numa_a == numa_b else "SYS", None, None, bridges)
    return Relation(None, "not derivable: different host bridges, and the firmware does not say which NUMA node "
                          "they belong to", None, bridges)


def within(word: str, worst: str) -> bool:
    """Return whether relation ``word`` is at least as close as ``worst``."""
    return RELATIONS.index(word) <= RELATIONS.index(worst)


def _shared(a: Chain, b: Chain) -> int:
    if a.bridge != b.bridge:
        return 0
    shared = 0
    for left, right in zip(a.devices[:-1], b.devices[:-1]):  # noqa: B905
        if left != right:
            break
        shared += 1
    return shared
