"""switch-chip: the PCIe switches above the accelerators, by name, with what is known to be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.pci.switch_chips import chip, collapses
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from ..nvidia.peer_access import FIND_OUT, OWN_REFUSES, Access, peers
from .p2p_letters import after_the_model

CHECK = Check(
    "switch-chip", "the switches by name, with what is known to be wrong with them",
    Heading.LINKS, 60, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY), built_so=True,
)
_ID = CHECK.id
CODES = {
    "no-switch": "No PCIe switch lies above an accelerator.",
    "not-in-table": "The switch is not in the table of known ones.",
    "writes-may-collapse": "Writes of several boards to other root ports can become very slow.",
    "no-peer-writes": "Writes of several boards to other root ports would become very slow, and the driver refuses "
                      "peer access between the boards: there are no such writes.",
    "driver-not-told": "Writes of several boards to other root ports would become very slow; NVIDIA's own driver "
                       "allows no such writes, and whether it is the loaded one is not told.",
}
#: It happens between the groups of topo-relation: a model that stays inside of one ends both warnings.
_FIX = Remedy.typed("keep a model's GPUs below one switch, as for topo-relation: their writes do not go through its "
                    "uplink; where a model needs more GPUs, measure several boards of this switch writing at once to "
                    "boards at other root ports (`sudo tunecheck p2p`)")


_NOTHING = Remedy("nothing is to be done, as long as the driver refuses peer access (p2p-capability)")


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
            code, limit, fix = _collapse(case)
            text = (f"writes of two boards through one uplink can collapse{limit}; when they write to two root ports "
                    f"at once, 37 GB/s become 3; {text}")
            yield Finding(_ID, code, ids, "warn", "effective", text, ids, "", tuple(bdf for bdf, _ in same), fix)
            continue
        yield Finding(_ID, "ok" if known else "not-in-table", ids, "pass", "effective", text, ids, "",
                      tuple(bdf for bdf, _ in same))


def _collapse(case: Case) -> tuple[str, str, Remedy]:
    """Return the code of writes that can collapse, whether there are such writes on this box, and what to do."""
    known = peers(case)
    if known.whole is Access.REFUSED:
        return "no-peer-writes", f", and here there are none: {known.refusal(known.pairs)}", _NOTHING
    if known.whole is Access.PATCHED_ONLY:
        return "driver-not-told", f", and {OWN_REFUSES}: only with a patched one there are such writes", FIND_OUT
    return "writes-may-collapse", "", after_the_model(_FIX) if known.whole is Access.MODEL_UNKNOWN else _FIX
