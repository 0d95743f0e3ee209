"""PCIe links under load. An idle link sleeps at 2.5 GT/s, so its speed of now says nothing; above a GPU at work it is
what the link reaches, and a prediction goes by it."""

from __future__ import annotations

from dataclasses import replace

from .nvidia.nvml import Gpu
from .pci.pcie_link import PcieLink
from .snapshot import Snapshot

__all__ = ["busy", "links_above", "uplinks", "works"]


def works(gpu: Gpu) -> bool | None:
    """Return whether the GPU works now: at P0 to P2, and half loaded or at half of its power limit. None where that is
    not known: at P0 without its load it may do both."""
    state, load, draw, limit = (gpu.number(key).value for key in (
        "pstate", "utilization_gpu", "power_draw_mw", "power_limit_mw"))
    if state is None or state > 2:
        return None if state is None else False
    if (load or 0) >= 50 or (draw and limit and 2 * draw >= limit):
        return True
    return None if load is None else False


def busy(snapshot: Snapshot, bdf: str) -> bool | None:
    """Return whether the GPU at an address works now, as `works` says it. None where nothing tells."""
    gpu = snapshot.nvml.value.gpu(bdf) if snapshot.nvml.value else None
    return works(gpu) if gpu else None


def links_above(snapshot: Snapshot) -> dict[str, list[PcieLink]]:
    """Return the links from the root port down to each accelerator, by its address. One that is slower under load than
    it could be is ``loaded``: it is so for every accelerator below it."""
    links = snapshot.topology.links
    slow = {link.name for bdf, way in links.items() if any(map(_is_slow, way)) and busy(snapshot, bdf)
            for link in way if _is_slow(link)}
    return {bdf: [replace(link, loaded=True) if link.name in slow else link for link in way]
            for bdf, way in links.items()} if slow else links


def uplinks(snapshot: Snapshot) -> list[tuple[PcieLink, list[int]]]:
    """Return Topology.uplinks() with the links as `links_above` has them."""
    known = {link.name: link for way in links_above(snapshot).values() for link in way}
    return [(known[link.name], gpus) for link, gpus in snapshot.topology.uplinks()]


def _is_slow(link: PcieLink) -> bool:
    return 0 < (link.gen or 0) < (link.top_gen or 0)
