"""The links above a GPU's own link that run slower than they can, whether the GPU works or not.

An idle GPU lowers the speed of its own link, which ends at the GPU. A link further up, as from a root port to a
switch, does not follow: ASPM changes no speed, and what manages power by link speed (autonomous speed change, a BIOS)
does so for all such links alike, down to Gen1.
"""

from __future__ import annotations

from collections.abc import Callable

from ...facts.pci.devices import Device
from ...facts.pci.pcie_link import PcieLink
from ...facts.pci.topology import Topology
from .link_common import named

__all__ = ["slow_uplinks"]

_WHY = ("an idle GPU slows down its own link and none above it. Where a BIOS lowers the speed of such links to save "
        "power, a copy of the GPU raises it: tunecheck p2p judges that")


def slow_uplinks(topology: Topology, device: Device, load: Callable[[str], bool | None]
                 ) -> tuple[str, list[PcieLink], str] | None:
    """Return code, links and text of a warning; None where no link above the own one of ``device`` is slow, or where
    one at Gen1 may save power as all of its kind. ``load`` tells whether a GPU works now."""
    links = topology.links_above(device)
    slow = [(rank, link) for rank, link in enumerate(_above_own(links, device))
            if link.gen and link.top_gen and link.gen < link.top_gen]
    faster = {link.name: _faster_sisters(topology, rank, link, load) for rank, link in slow}
    sure = [link for _, link in slow if faster[link.name] or (link.gen or 0) > 1]
    if not sure:
        return None
    sisters = {sister.name: sister for link in sure for sister in faster[link.name]}
    if not sisters:
        return "slow-above", sure, f"{named(sure)}; {_WHY}"
    gens = " or ".join(f"Gen{gen}" for gen in sorted({sister.gen or 0 for sister in sisters.values()}))
    return "below-peers", sure, (
        f"{named(sure)}, while {len(sisters)} of the same kind run{'s' * (len(sisters) == 1)} at {gens}: {_WHY}")


def _above_own(links: list[PcieLink], device: Device) -> list[PcieLink]:
    """Return the links above the GPU's own. A board with a bridge of the GPU's maker before the GPU ends there."""
    maker, left = device.ids.partition(":")[0], links[:-1]
    while left and left[-1].lower.ids.partition(":")[0] == maker:
        left = left[:-1]
    return left


def _faster_sisters(topology: Topology, rank: int, link: PcieLink, load: Callable[[str], bool | None]
                    ) -> list[PcieLink]:
    """Return the links at the same place on the way of other GPUs, to the same kind of switch, that run faster. Those
    of GPUs that work say nothing of one whose GPUs may be idle."""
    found: dict[str, PcieLink] = {}
    for other in topology.devices:
        ways = _above_own(topology.links_above(other), other)
        if len(ways) <= rank or load(other.bdf):
            continue
        sister = ways[rank]
        if sister.name != link.name and sister.lower.ids == link.lower.ids and (sister.gen or 0) > (link.gen or 0):
            found[sister.name] = sister
    return list(found.values())
