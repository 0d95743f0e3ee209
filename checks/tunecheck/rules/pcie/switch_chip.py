"""switch-chip: the PCIe switches above the accelerators, by name, with what is known to be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.pci.switch_chips import chip, collapses
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "switch-chip", "the switches by name, with what is known to be wrong with them",
    Heading.LINKS, 60, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY), built_so=True,
)
_ID = CHECK.id
CODES = {
    "no-switch": "No PCIe switch lies above an accelerator.",
    "not-in-table": "The switch is not in the table of known ones.",
    "writes-may-collapse": "Writes of several boards to other root ports can become very slow.",
}
#: It happens between the groups of topo-relation: a model that stays inside of one ends both warnings.
_FIX = Remedy.typed("keep a model's GPUs below one switch, as for topo-relation: their writes do not go through its "
                    "uplink; where a model needs more GPUs, measure several boards of this switch writing at once to "
                    "boards at other root ports (`sudo tunecheck p2p`)")


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    above = topology.uplinks()
    if not above:
        yield Finding(_ID, "no-switch", "switches", "skip", "effective", "no PCIe switch above an accelerator")
    roots = {device.path[0] for device in topology.devices}
    for ids in sorted({link.lower.ids for link, _ in above}):
        same = [(link.lower.bdf, gpus) for link, gpus in above if link.lower.ids == ids]
        if not all(ids.split(":")):
            yield Finding(_ID, UNREAD, same[0][0], "unknown", "effective", "which switch it is cannot be read: "
                          + ", ".join(bdf for bdf, _ in same), "?")
            continue
        known = chip(ids)
        text = f"{known or 'a switch that is not in the table'} [{ids}]: {', '.join(bdf for bdf, _ in same)}"
        bad = collapses(ids) and len(roots) > 2 and any(len(gpus) > 1 for _, gpus in same)
        if bad:
            text = ("writes of two boards through one uplink can collapse; when they write to two root ports at once, "
                    f"37 GB/s become 3; {text}")
        code, outcome = ("writes-may-collapse", "warn") if bad else ("ok" if known else "not-in-table", "pass")
        yield Finding(_ID, code, ids, outcome, "effective", text, ids, "", tuple(bdf for bdf, _ in same),
                      _FIX if bad else None)
