"""The way between two accelerators, and what it can carry: arithmetic over the tree, no judgement.

Speeds are the highest that each link can train to: an idle link sleeps at 2.5 GT/s. Of a link that a GPU at work keeps
slower it is the speed of now, as link-speed fails on it and traffic gets no more. Widths and MPS are those of now.
The figure for Gen5 x16 at MPS 256, 57.6 GB/s one way, is met by measurements of 53 to 57 (flow control
and SKP take 1 to 2 %); with ACS redirect both directions share the switch's uplink: 50 to 51 both ways together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..model.absence import Absence
from ..util.at_first_use import dataclass
from .loaded_links import links_above
from .pci.devices import Device
from .pci.pcie_link import PcieLink
from .pci.topology import Pair, Topology
from .snapshot import Snapshot

__all__ = ["PairPath", "paths"]

_CLASSES = {"PIX": "switch", "PXB": "cascade", "PHB": "root-complex", "NODE": "root-complex", "SYS": "cross-socket"}
_BEYOND = {"root-complex": "upper bound: the way through the CPU, from one root port to the other, is not described by "
                           "PCIe", "cross-socket": "upper bound: the way between the sockets is not described by PCIe"}


@dataclass(frozen=True)
class PairPath:
    """The way between two accelerators. ``hops`` go from a to b, ``links`` are the links between them (with a redirect
    also those up to the root port), ``slowest`` is one of these. ``redirectors`` are the ports that send peer traffic
    up (ACS); ``mps`` is the smallest along the way in bytes. Rates are in GB/s of payload, one way and both ways
    together. ``reason`` says why a rate is None, or why it is only an upper bound; ``unseen``, where one way has a
    figure, why both ways together have none. ``latency_class``: switch, cascade, root-complex, cross-socket,
    nvlink. ``only``: on what condition there is peer traffic at all, "" for none (rules/pcie/peer_ways.py)."""

    pair: Pair
    hops: tuple[Device, ...]
    links: tuple[PcieLink, ...]
    slowest: PcieLink | None
    redirectors: tuple[str, ...]
    mps: int | None
    one_way: float | None
    two_way: float | None
    latency_class: str | None
    reason: str | None
    unseen: str = ""
    only: str = ""

    @property
    def slow_now(self) -> str:
        """Return which links of switches on the way run slower than they can, "" where none does. Neither the boards'
        own links, which slow down when idle, nor Gen1, to which a BIOS may lower all such links to save power."""
        own = {self.hops[0].bdf, self.hops[-1].bdf}
        slow = [link for link in self.links if link.lower.bdf not in own and not link.loaded
                and 1 < (link.gen or 0) < (link.top_gen or 0)]
        return "; ".join(f"{link.name} runs at Gen{link.gen} of Gen{link.top_gen} now" for link in slow)

    def link_of(self, bdf: str) -> PcieLink | None:
        """Return the first link of the way that the device ``bdf`` is an end of. None where there is none."""
        return next((link for link in self.links if bdf in (end.bdf for end in link.ends)), None)


def paths(snapshot: Snapshot) -> tuple[PairPath, ...]:
    """Return one way for each of topology.pairs, in their order."""
    above = links_above(snapshot)
    return tuple(_path(snapshot, pair, above) for pair in snapshot.topology.pairs)


def _path(snapshot: Snapshot, pair: Pair, above: dict[str, list[PcieLink]]) -> PairPath:
    topology = snapshot.topology
    a, b = topology.devices[pair.a], topology.devices[pair.b]
    ports = [topology.bridges[bdf] for bdf in pair.bridges if bdf in topology.bridges]
    of_a = [port for port in ports if port.bdf in a.path]
    hops = (a, *reversed(of_a), *(port for port in ports if port not in of_a), b)
    if _nvlink(snapshot, a.bdf, b.bdf):
        return PairPath(pair, hops, (), None, (), None, None, None, "nvlink",
                        "joined by NVLink: PCIe does not carry their traffic")
    if pair.relation.value is None:
        return PairPath(pair, hops, (), None, (), None, None, None, None, pair.relation.reason)
    redirectors = tuple(port.bdf for port in ports if port.acs.value is not None and port.acs.value.redirects)
    hairpin = bool(redirectors) and pair.relation.value in ("PIX", "PXB")
    names = {hop.bdf for hop in hops}
    if hairpin:
        names |= set(a.path) | set(b.path)
    links = tuple({link.name: link for device in (a, b) for link in above[device.bdf]
                   if any(end.bdf in names for end in link.ends)}.values())
    return _predicted(PairPath(pair, hops, links, None, redirectors, None, None, None,
                               "root-complex" if hairpin else _CLASSES[pair.relation.value], None), ports, hairpin,
                      _emulated(topology, hops, (a, b)))


def _emulated(topology: Topology, hops: Sequence[Device], ends: Iterable[Device]) -> str | None:
    """Return the emulated port that hides the real links: on the way or above it."""
    return topology.emulated((*(hop.bdf for hop in hops), *(bdf for end in ends for bdf in reversed(end.path))))


def _predicted(path: PairPath, ports: list[Device], hairpin: bool, emulated: str | None) -> PairPath:
    sizes = [hop.express.value.payload if hop.express.value else None for hop in path.hops]
    mps = min((size for size in sizes if size), default=None) if all(sizes) else None
    # The slowest link is the slowest at any MPS: the share that packets take is the same on all of one generation.
    if emulated:
        return replace(path, mps=mps, reason=f"{emulated} is an emulated port: a virtual machine hides the real links")
    rates = [(rate, link) for link in path.links if (rate := link.rate(mps or 256)) is not None]
    whole = len(rates) == len(path.links) > 0
    rate, slowest = min(rates, key=lambda item: item[0]) if whole else (None, None)
    one_way = round(rate, 1) if rate is not None and mps else None
    blind = [port for port in ports if not port.acs.known]
    two_way = None if one_way is None or blind else one_way if hairpin else round(2 * (rate or 0), 1)
    unseen = f"ACS of {blind[0].bdf} is not known: {blind[0].acs.reason}" if blind else ""
    reasons = [*_unknown(path, mps, whole), *([unseen] if unseen and one_way is None else [])]
    if one_way is None and any(hop.express.absence is Absence.NOT_IN_IMPORT for hop in path.hops):
        del reasons[1:]     # one text tells all of it
    if one_way is not None and hairpin:
        reasons.append("hairpin: ACS redirect sends both directions over the same uplink to the root complex")
    elif one_way is not None and path.latency_class in _BEYOND:
        reasons.append(_BEYOND[path.latency_class])
    if one_way is not None and slowest and slowest.loaded:
        reasons.append(f"under load {slowest.name} runs at Gen{slowest.gen} of Gen{slowest.top_gen}")
    if one_way is not None and path.slow_now:
        reasons.append(path.slow_now)
    return replace(path, slowest=slowest, mps=mps, one_way=one_way, two_way=two_way,
                   reason="; ".join(reasons) or None, unseen=unseen if one_way is not None else "")


def _unknown(path: PairPath, mps: int | None, whole: bool) -> Iterator[str]:
    """Yield why there is no figure: an MPS, or the speed or width of a link, is not known."""
    if mps is None:
        yield next(f"the MPS of {hop.bdf} is not known: {_why(hop)}" for hop in path.hops
                   if not (hop.express.value and hop.express.value.payload))
    if not whole:
        yield next((f"speed or width of the link {link.name} is not known" for link in path.links
                    if link.rate(256) is None), "no link is visible")


def _why(hop: Device) -> str:
    if not hop.express.known:
        return hop.express.reason or ""
    return "conventional PCI" if hop.express.value is None else "reserved code in DevCtl"


def _nvlink(snapshot: Snapshot, a: str, b: str) -> bool:
    """Return whether NVML (p2p_nvlink 0: OK) or the driver's table (NV#) says that the two are joined by NVLink."""
    nvml = snapshot.nvml.value.pairs.get((a, b), {}) if snapshot.nvml.value else {}
    word = snapshot.topo_text.value.relations.get((a, b), "") if snapshot.topo_text.value else ""
    return nvml.get("p2p_nvlink") == 0 or word.startswith("NV")
