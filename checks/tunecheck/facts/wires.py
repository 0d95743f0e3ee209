"""The PCIe links above the accelerators, one by one.

A link has two ends: the port above (root port or downstream port of a switch) and the device below it (accelerator or
upstream port of a switch). Between a switch's upstream and downstream ports there is no link, only the chip.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..formats.pcie_cap import SPEEDS, generation
from ..formats.pcie_rate import payload_rate
from .fact import Fact
from .pci import Device
from .topology import Topology

__all__ = ["Wire", "hops", "uplinks", "wires"]


@dataclass(frozen=True)
class Wire:
    """One link. ``upper`` is None where the port above is not visible (a device on a root bus)."""

    upper: Device | None
    lower: Device

    @property
    def name(self) -> str:
        """``0000:02:00.0-0000:03:00.0``."""
        return f"{self.upper.bdf}-{self.lower.bdf}" if self.upper else self.lower.bdf

    @property
    def ends(self) -> tuple[Device, ...]:
        return (self.upper, self.lower) if self.upper else (self.lower,)

    @property
    def gen(self) -> int | None:
        """The generation it runs at now: low at idle, to save power."""
        return min((gen for end in self.ends if (gen := _gen(end.link.speed))), default=None)

    @property
    def width(self) -> int | None:
        """Lanes in use; they stay when a link idles. 0: no link is up."""
        return min((lanes for end in self.ends if (lanes := end.link.width.value) is not None), default=None)

    @property
    def max_gen(self) -> int | None:
        """The highest generation of both ends, as far as their registers say."""
        return min((gen for end in self.ends if (gen := _gen(end.link.max_speed))), default=None)

    @property
    def max_width(self) -> int | None:
        """Lanes that both ends have; an end that says 0 (emulated ports) says nothing."""
        return min((lanes for end in self.ends if (lanes := end.link.max_width.value)), default=None)

    @property
    def held(self) -> int | None:
        """The generation at which the port above holds the link (Link Control 2), where that is below max_gen."""
        link = self.upper.express.value.link if self.upper and self.upper.express.value else None
        target = link.target_gen if link else None
        return target if target and self.max_gen and target < self.max_gen else None

    @property
    def top_gen(self) -> int | None:
        """The generation that it reaches under load."""
        return self.held or self.max_gen

    def rate(self, mps: int) -> float | None:
        """GB/s one way at its highest speed and its width of now; None where one of both is not known."""
        return payload_rate(self.top_gen, self.width, mps) if self.top_gen and self.width else None

    @property
    def text(self) -> str:
        """``x16 Gen5`` at its highest speed."""
        return f"x{self.width or '?'} Gen{self.top_gen or '?'}"


def _gen(speed: Fact[str]) -> int | None:
    found = generation(speed.value or "")
    return found if found in SPEEDS else None


def hops(topology: Topology, device: Device) -> list[Device]:
    """Every device from the root port down to ``device``, as far as they are known."""
    return [topology.bridges[bdf] for bdf in device.path[:-1] if bdf in topology.bridges] + [device]


def wires(topology: Topology, device: Device) -> list[Wire]:
    """The links from the root port down to ``device``. Counted from below: the device and the port above it, then the
    switch's upstream port and the port above that."""
    chain = hops(topology, device)
    found = [Wire(chain[at - 1] if at else None, chain[at]) for at in range(len(chain) - 1, -1, -2)]
    return found[::-1]


def uplinks(topology: Topology) -> list[tuple[Wire, list[int]]]:
    """The links above switches, nearest to the root first, each with the accelerators (indices) below it."""
    found: dict[Wire, list[int]] = {}
    for index, device in enumerate(topology.devices):
        for wire in wires(topology, device)[:-1]:
            found.setdefault(wire, []).append(index)
    return sorted(found.items(), key=lambda item: len(item[0].lower.path))
