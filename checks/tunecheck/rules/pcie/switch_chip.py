"""switch-chip: the PCIe switches above the accelerators, by name, with what is known to be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.pcie_link import uplinks
from ...model.finding import Finding, Remedy
from ...parsers.pci.switch_chips import chip, collapses
from ..check import TOPO, Check, Family, Heading, Needs
from ..context import Case

CHECK = Check(
    "switch-chip", "the switches by name, with what is known to be wrong with them",
    Heading.LINKS, 60, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY),
)
_ID = CHECK.id
_FIX = Remedy.typed("measure it: several boards of this switch writing at once to boards at other root ports (`sudo "
                    "tunecheck p2p`)")


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    above = uplinks(topology)
    if not above:
        yield Finding(_ID, "switches", "skip", "effective", "no PCIe switch above an accelerator")
    roots = {device.path[0] for device in topology.devices}
    for ids in sorted({wire.lower.ids for wire, _ in above}):
        same = [(wire.lower.bdf, gpus) for wire, gpus in above if wire.lower.ids == ids]
        if not all(ids.split(":")):
            yield Finding(_ID, same[0][0], "unknown", "effective", "which switch it is cannot be read: "
                          + ", ".join(bdf for bdf, _ in same), "?")
            continue
        text = f"{chip(ids) or 'a switch that is not in the table'} [{ids}]: {', '.join(bdf for bdf, _ in same)}"
        bad = collapses(ids) and len(roots) > 2 and any(len(gpus) > 1 for _, gpus in same)
        if bad:
            text += "; writes of two boards through one uplink to two root ports can collapse from 37 to 3 GB/s"
        yield Finding(_ID, ids, "warn" if bad else "pass", "effective", text, ids, "", tuple(bdf for bdf, _ in same),
                      _FIX if bad else None)
