"""The lower part of the way up from accelerators whose place in the tree is not known, by the bus numbers of bridges.
Where two of them meet below one bridge, the ports between them are certain, whatever is above it."""

from __future__ import annotations

from collections.abc import Iterable

from ...host import Host
from ...parsers.pci.bdf import BDF
from .pcie import read_config

__all__ = ["between", "lower_ways"]

_HEADER_TYPE, _SECONDARY = 0x0E, 0x19
#: Deeper than PCI can be.
_MOST = 64


def lower_ways(host: Host, listed: Iterable[str], lost: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the bridges above each device of ``lost``, the topmost one that is known first, itself not among them. A
    bus that two bridges claim ends the way."""
    above: dict[tuple[str, int], list[str]] = {}
    for bdf in listed:
        data = read_config(host, bdf).bytes.value if BDF.match(bdf) else None
        if data is not None and len(data) > _SECONDARY and data[_HEADER_TYPE] & 0x7F == 1 and data[_SECONDARY]:
            above.setdefault((bdf.split(":")[0], data[_SECONDARY]), []).append(bdf)
    return {bdf: _way(bdf, above) for bdf in lost}


def _way(bdf: str, above: dict[tuple[str, int], list[str]]) -> tuple[str, ...]:
    way: list[str] = []
    while len(way) < _MOST:
        domain, bus, _ = (way[0] if way else bdf).split(":")
        bridges = above.get((domain, int(bus, 16)), [])
        if len(bridges) != 1 or bridges[0] in way:
            break
        way.insert(0, bridges[0])
    return tuple(way)


def between(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the lowest bridge that two such ways share, and the ports below it, a's side first; None and no port where
    they share none."""
    shared = [bridge for bridge in a if bridge in b]
    if not shared:
        return None, ()
    common = shared[-1]
    return common, (*a[a.index(common) + 1:], *b[b.index(common) + 1:])
