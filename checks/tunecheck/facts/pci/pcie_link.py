"""The PCIe links above the accelerators, one by one.

A link has two ends: the port above (root port or downstream port of a switch) and the device below it (accelerator or
upstream port of a switch). Between a switch's upstream and downstream ports there is no link, only the chip.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model.fact import Fact
from ...parsers.pci.pcie_cap import generation
from ...parsers.pci.pcie_rate import payload_rate
from ...parsers.pci.switch_chips import EMULATED
from ...util.at_first_use import dataclass
from .devices import Device

__all__ = ["PcieLink", "above", "hops", "link_between"]


@dataclass(frozen=True, eq=False)
class PcieLink:
    """One link. ``upper`` is None where the port above is not visible (a device on a root bus). ``name`` is
    "0000:02:00.0-0000:03:00.0". Generations 1 to 6 and lanes, None where neither end reports them:

    ``gen`` and ``width`` are the current values: at idle the generation is low, to save power, and the lanes stay (0:
    no link is up). ``max_gen`` and ``max_width`` are what both ends have; 0 at an end (emulated ports) is no value.
    ``held`` is where the port above holds the link below max_gen (Link Control 2). ``loaded``: a GPU below it works, so
    ``gen`` is what the link reaches (facts/loaded_links.py)."""

    upper: Device | None
    lower: Device
    name: str
    gen: int | None
    width: int | None
    max_gen: int | None
    max_width: int | None
    held: int | None
    loaded: bool = False

    @property
    def ends(self) -> tuple[Device, ...]:
        return (self.upper, self.lower) if self.upper else (self.lower,)

    @property
    def top_gen(self) -> int | None:
        """Return the generation that the link should reach under load. None where it is not known."""
        return self.held or self.max_gen

    @property
    def load_gen(self) -> int | None:
        """Return the generation that traffic gets: the one of now where that is seen under load, else the highest."""
        return self.gen if self.loaded else self.top_gen

    def rate(self, mps: int) -> float | None:
        """Return the payload rate in GB/s one way, at the link's speed under load and its width of now. ``mps`` is
        the largest packet in bytes. None where speed or width is not known."""
        return payload_rate(self.load_gen, self.width, mps) if self.load_gen and self.width else None

    @property
    def text(self) -> str:
        """Return ``x16 Gen5``: the width of now, and the generation under load. "?" stands for what is not known."""
        return f"x{self.width or '?'} Gen{self.load_gen or '?'}"


def link_between(upper: Device | None, lower: Device) -> PcieLink:
    """Return the link between two devices, as both ends report it. An emulated port above reports nothing."""
    ends = (upper, lower) if upper and upper.ids not in EMULATED else (lower,)
    most = min((gen for end in ends if (gen := _gen(end.link.max_speed))), default=None)
    above = ends[0].express.value.link if len(ends) > 1 and ends[0].express.value else None
    target = above.target_gen if above else None
    return PcieLink(
        upper, lower, f"{upper.bdf}-{lower.bdf}" if upper else lower.bdf,
        gen=min((gen for end in ends if (gen := _gen(end.link.speed))), default=None),
        width=min((lanes for end in ends if (lanes := end.link.width.value) is not None), default=None),
        max_gen=most, max_width=min((lanes for end in ends if (lanes := end.link.max_width.value)), default=None),
        held=target if target and most and target < most else None)


def _gen(speed: Fact[str]) -> int | None:
    return generation(speed.value) if speed.value else None


def hops(bridges: Mapping[str, Device], device: Device) -> list[Device]:
    """Return the devices from the root port down to ``device``, as far as they are known. ``bridges`` is that of
    Topology."""
    return [bridges[bdf] for bdf in device.path[:-1] if bdf in bridges] + [device]


def above(bridges: Mapping[str, Device], device: Device) -> list[PcieLink]:
    """Return the links from the root port down to ``device``. They are counted from below: the device and the port
    above it, then the switch's upstream port and the port above that."""
    chain = hops(bridges, device)
    links = [link_between(chain[at - 1] if at else None, chain[at]) for at in range(len(chain) - 1, -1, -2)]
    return links[::-1]
