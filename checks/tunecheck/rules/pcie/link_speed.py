"""link-speed: under load every link above the accelerator runs as fast as both its ends and the board can."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.pci import Device
from ...facts.pci.pcie_link import wires
from ...model.finding import Finding, Place, Remedy
from ..check import TOPO, Check, Family, Heading, Needs
from ..context import Case
from .link_common import board_gen, busy, each, named

CHECK = Check(
    "link-speed", "under load every link runs as fast as its ends and the board",
    Heading.LINKS, 20, Family.PCIE, TOPO, needs=(Needs.TREE,), judges=("pcie.gen_max", "pcie.gen_target"),
)
_ID = CHECK.id
_FIX = Remedy("reseat board, riser and cable; set the slot's speed in the BIOS to Auto; see link-errors",
              place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, lambda subject, chain: _judge(case, subject, chain[-1]), registers=False)


def _judge(case: Case, subject: str, device: Device) -> Finding:
    links, board, load = wires(case.snapshot.topology, device), board_gen(device), busy(case, device.bdf)
    blind = [wire.name for wire in links if not (wire.gen and wire.top_gen)]
    slow = [wire for wire in links if (wire.gen or 0) < (wire.top_gen or 0)]
    less = [f"{wire.name} reaches Gen{wire.top_gen} at most" for wire in links if (wire.top_gen or 9) < (board or 0)]
    outcome, text = "pass", f"Gen{links[-1].gen}, and no link above it runs below what it can"
    if blind:
        outcome, text = "unknown", f"the speed of {', '.join(blind)} is not known ({device.link.speed.reason or '?'})"
    elif slow and load:
        outcome, text = "fail", f"under load, {named(slow)}"
    elif less:
        outcome, text = "warn", f"the board is Gen{board}, and {', '.join(less)}"
    elif slow:
        idle = "idle" if load is False else "idle or not is not known"
        outcome, text = "skip", f"{named(slow)}; {idle}: low speed saves power; judged under load by tunecheck p2p"
    return Finding(_ID, subject, outcome, "effective", f"{subject}: {text}", "", f"Gen{board} at every link",
                   (device.link.speed.source,), _FIX if outcome in ("fail", "warn") else None)
