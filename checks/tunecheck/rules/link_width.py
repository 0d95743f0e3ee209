"""link-width: the declared number of lanes at the accelerator and at every hop above it.

Width only: at idle a link runs at 2.5 GT/s to save power, so speed means something only under load.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.pci import Device
from .finding import Case, Finding, Remedy

_ID = "link-width"
_SEAT = Remedy("reseat the board or riser, and look for slot bifurcation in the BIOS")


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.accelerators.link_width
    topology = case.snapshot.topology
    if wanted is None or not topology.devices:
        reason = ("no accelerator found" if wanted is not None else "the spec asks for no link width" if case.frozen
                  else "no spec given")
        yield Finding(_ID, "links", "skip", "effective", reason)
        return
    for index, device in enumerate(topology.devices):
        hops = [topology.bridges[bdf] for bdf in device.path[:-1] if bdf in topology.bridges] + [device]
        yield _judge(f"GPU{index} {device.bdf}", hops, wanted)


def _judge(subject: str, hops: list[Device], wanted: int) -> Finding:
    widths = [(hop.bdf, hop.link.width) for hop in hops]
    observed = " > ".join(f"{bdf} x{'?' if width.value is None else width.value}" for bdf, width in widths)
    expected = f"x{wanted} at every hop"
    evidence = tuple(width.source for _, width in widths)
    narrow = [f"{bdf} x{width.value}" for bdf, width in widths if width.value is not None and width.value < wanted]
    if narrow:
        return Finding(_ID, subject, "fail", "effective", f"{subject} is held back by {', '.join(narrow)}", observed,
                       expected, evidence, _SEAT)
    # A root bus function without a link of its own has no such file; the accelerator itself always must.
    dark = [width for _, width in widths if width.value is None and not width.missing]
    if dark or hops[-1].link.width.value is None:
        why = (dark or [hops[-1].link.width])[0].why()
        return Finding(_ID, subject, "unknown", "effective", f"the link width of {subject} is unknown: {why}",
                       observed, expected, evidence)
    return Finding(_ID, subject, "pass", "effective", f"{subject} has {expected}", observed, expected, evidence)
