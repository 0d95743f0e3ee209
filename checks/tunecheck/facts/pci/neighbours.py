"""Network cards and NVMe drives that share a port with an accelerator."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known
from ...parsers.pci.bdf import BDF, bdf_key
from ...util.at_first_use import dataclass
from ..file_text import text
from . import devices as pci
from .topology import Topology

__all__ = ["Neighbour", "neighbours"]


@dataclass(frozen=True)
class Neighbour:
    """A drive or network card near an accelerator. ``kind`` is "NVMe" or "network"; ``below`` is the port nearest to it
    that also has an accelerator below."""

    device: pci.Device
    kind: str
    below: str


def neighbours(host: Host, topology: Topology) -> Fact[tuple[Neighbour, ...]]:
    """Return every NVMe drive (class 0108) and network controller (02xx) below a port that leads to an accelerator.
    Where not one accelerator has a port above it nothing is read."""
    if not topology.bridges:
        return known((), pci.DEVICES)
    try:
        names = sorted((name for name in host.list(pci.DEVICES) if BDF.match(name)), key=bdf_key)
    except Unreadable as error:
        return absent(pci.DEVICES, error.reason)
    found = []
    for bdf in names:
        kind = _kind((text(host, f"{pci.DEVICES}/{bdf}/class").value or "").lower().removeprefix("0x")[:4])
        if kind:
            device = pci.device(host, bdf)
            if device.chain.value is None and kind == "NVMe":
                return absent(device.chain.source, (device.chain.absence or Absence.NOT_READ).because(
                    f"where {bdf} (NVMe) is in the tree is not known: {device.chain.reason}"))
            shared = [port for port in device.path[:-1] if port in topology.bridges]
            if shared:
                found.append(Neighbour(device, kind, shared[-1]))
    return known(tuple(found), pci.DEVICES)


def _kind(code: str) -> str | None:
    return "NVMe" if code == "0108" else "network" if code.startswith("02") else None
