"""uplink-neighbours: which NVMe drives and network cards share the way to the host with accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "uplink-neighbours", "no drive shares the way to the host",
    Heading.LINKS, 80, Family.PCIE, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY, Needs.SIBLINGS),
    built_so=True,
)
_ID = CHECK.id
CODES = {
    "no-port-above": "No accelerator is below a PCIe port.",
    "drive": "A drive shares an accelerator's way to the host.",
    "network-card": "A network card, and no drive, shares an accelerator's way to the host.",
}
_FIX = Remedy("move drives that load models to a root port without accelerators; where GPUDirect Storage is used, "
              "leave them", place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    topology, neighbours = case.snapshot.topology, case.host.neighbours
    if not topology.bridges:
        yield Finding(_ID, "no-port-above", "neighbours", "skip", "effective", "no accelerator below a PCIe port")
    elif neighbours.value is None:
        yield Finding(_ID, UNREAD, "neighbours", "unknown", "effective",
                      f"the devices cannot be listed: {neighbours.why()}",
                      absence=neighbours.absence)
    elif not neighbours.value:
        yield Finding(_ID, "ok", "neighbours", "pass", "effective", "no drive or network card shares a port with an "
                      "accelerator", evidence=(neighbours.source,))
    for port in sorted({each.below for each in neighbours.value or ()}):
        here = [each for each in neighbours.value or () if each.below == port]
        gpus = ", ".join(f"GPU{index}" for index, device in enumerate(topology.devices) if port in device.path)
        drives = any(each.kind == "NVMe" for each in here)
        names = ", ".join(f"{each.kind} {each.device.bdf}" for each in here)
        text = f"{gpus} share the way to the host with {names} below {port}; for direct transfers these are near"
        yield Finding(_ID, "drive" if drives else "network-card", port, "warn" if drives else "pass", "effective",
                      text, names, "no drive" if drives else "",
                      tuple(each.device.chain.source for each in here), _FIX if drives else None)
