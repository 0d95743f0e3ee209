"""link-payload: the packet size (MPS) is the same at every hop of an accelerator, and not 128 without need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.pci.pci import Device
from ...model.finding import Finding, Place, Remedy
from ..check import TOPO, Check, Family, Heading, Needs
from ..context import Case
from .link_common import cost, each, payload

CHECK = Check(
    "link-payload", "one packet size along the path, and not 128 without need",
    Heading.LINKS, 40, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE),
    judges=("pcie.payload", "pcie.bridge.payload"),
)
_ID = CHECK.id
_FIX = Remedy("let the BIOS set it (Max Payload Size: Auto), or boot with pci=pcie_bus_safe", (), True,
              Place.FIRMWARE)


def judge(case: Case) -> Iterator[Finding]:
    peers = [peer for peer in case.snapshot.topology.devices if peer.express.value]
    dark = next((peer for peer in case.snapshot.topology.devices if not peer.express.known), None)
    for found in each(case, _ID, lambda subject, chain: _judge(subject, chain, [*chain[:-1], *peers])):
        if found.outcome == "pass" and dark is not None:
            # What is too large for a peer cannot be told where one's size is not known.
            found = replace(found, outcome="unknown", text=f"{found.text}; what {dark.bdf} takes is not known: "
                            f"{dark.express.reason}")
        yield found


def _judge(subject: str, chain: list[Device], others: list[Device]) -> Finding:
    own, sizes = chain[-1].express.value, payload(chain)
    mine = own.payload if own else None
    less = [f"{hop.bdf} ({size})" for hop, size in payload(others) if mine and size and size < mine]
    apart = [f"{hop.bdf} ({size})" for hop, size in sizes if size != mine]
    waste = cost(chain) if mine == 128 else ""
    if own is None or mine is None or None in dict(sizes).values():
        outcome, text = "unknown", "the MPS of a hop is a reserved code"
    elif less:
        outcome, text = "fail", f"sends packets of {mine} bytes, too large for {', '.join(less)}"
    elif apart or waste:
        outcome, text = "warn", f"MPS {mine} bytes{waste}" + (f", other than {', '.join(apart)}" if apart else "")
    else:
        outcome, text = "pass", f"MPS {mine} bytes at every hop, MRRS {own.read_request} bytes"
    return Finding(_ID, subject, outcome, "effective", f"{subject}: {text}", str(mine),
                   "one MPS along the path, 256 if able", (chain[-1].express.source,),
                   _FIX if outcome in ("fail", "warn") else None)
