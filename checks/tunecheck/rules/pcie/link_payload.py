"""link-payload: the packet size (MPS) is the same at every hop of an accelerator, and not 128 without need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.pci.devices import Device
from ...model.finding import Finding
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import REGISTERS_UNREAD
from ..context import Case
from ..remedies.boot_remedies import or_boot_with
from .link_common import at_hops, cost, each, payload

CHECK = Check(
    "link-payload", "one packet size along the path, and not 128 without need",
    Heading.LINKS, 40, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE),
    judges=("pcie.payload", "pcie.bridge.payload"),
)
_ID = CHECK.id
CODES = {
    "reserved-code": "The register of a device on the path holds a packet size that does not exist.",
    "too-large-for-others": "The accelerator sends packets that are too large for another device.",
    "mixed-sizes": "Devices on the path have other packet sizes than the accelerator.",
    "small-packets": "The packets have 128 bytes, and every device on the path can do 256 or more.",
}
_BIOS = "let the BIOS set it (Max Payload Size: Auto)"
_SAFE = "pci=pcie_bus_safe"


def judge(case: Case) -> Iterator[Finding]:
    peers = [peer for peer in case.snapshot.topology.devices if peer.express.value]
    unread = next((peer for peer in case.snapshot.topology.devices if not peer.express.known), None)
    for finding in each(case, _ID, lambda subject, chain: _judge(case, subject, chain, [*chain[:-1], *peers])):
        if finding.outcome == "pass" and unread is not None:
            # What is too large for a peer cannot be told where one's size is not known.
            why = f"what {unread.bdf} takes is not known: {unread.express.reason}"
            own = finding.text.removeprefix(f"{finding.subject}: ")
            finding = replace(finding, outcome="unknown", code=REGISTERS_UNREAD,
                              text=f"{finding.subject}: {why}; {own}", evidence=(unread.express.source,),
                              absence=unread.express.absence)
        yield finding


def _judge(case: Case, subject: str, chain: list[Device], others: list[Device]) -> Finding:
    own, sizes = chain[-1].express.value, payload(chain)
    mine = own.payload if own else None
    less = [f"{hop.bdf} ({size})" for hop, size in payload(others) if mine and size and size < mine]
    apart = [f"{hop.bdf} ({size})" for hop, size in sizes if size != mine]
    waste = cost(case, chain) if mine == 128 else ""
    if own is None or mine is None or any(size is None for _, size in sizes):
        code, outcome, text = "reserved-code", "unknown", "the MPS of a hop is a reserved code"
    elif less:
        code, outcome = "too-large-for-others", "fail"
        text = f"sends packets of {mine} bytes, too large for {', '.join(less)}"
    elif apart or waste:
        code, outcome = "mixed-sizes" if apart else "small-packets", "warn"
        text = f"MPS {mine} bytes{waste}" + (f", other than {', '.join(apart)}" if apart else "")
    else:
        code, outcome, text = "ok", "pass", (
            f"MPS {mine} bytes {at_hops(chain)}, MRRS {own.read_request} bytes")
    return Finding(_ID, code, subject, outcome, "effective", f"{subject}: {text}", str(mine),
                   "one MPS along the path, 256 if able", (chain[-1].express.source,),
                   or_boot_with(case, _BIOS, _SAFE, "`sudo dmesg`: \"Max Payload Size set to\"")
                   if outcome in ("fail", "warn") else None)
