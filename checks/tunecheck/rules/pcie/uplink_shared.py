"""uplink-shared: how many accelerators share one uplink of a switch, and that it is no slower than each one's link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.loaded_links import busy, links_above, uplinks
from ...facts.pci.devices import Device
from ...facts.pci.pcie_link import PcieLink
from ...model.finding import Finding, Place, Remedy
from ...util.text import some
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import UNREAD, VIRTUAL_PORTS
from ..context import Case
from .slow_uplinks import slow_uplinks

CHECK = Check(
    "uplink-shared", "no uplink is slower than one accelerator's own link",
    Heading.LINKS, 70, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY, Needs.SIBLINGS),
)
_ID = CHECK.id
CODES = {
    "no-switch": "No PCIe switch lies above an accelerator.",
    "slower-than-board": "A switch's way to the host is slower than a board's own link.",
}
_FIX = Remedy("give the switch a slot or cable as wide and fast as a board's, and look at bifurcation in the BIOS",
              place=Place.MACHINE)
_SPEED = Remedy("see link-speed: the link can run faster than it does", place=Place.MACHINE)

#: So many GPUs of one uplink are named.
_NAMED = 4


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    above, ways = uplinks(case.snapshot), links_above(case.snapshot)
    if not above:
        yield Finding(_ID, "no-switch", "uplinks", "skip", "effective", "no PCIe switch above an accelerator")
    slow_now = {link.name for device in topology.devices for link in _slow_now(case, device)}
    for can, gpus in above:
        if made_up := _made_up(case, gpus[0]):
            yield Finding(_ID, VIRTUAL_PORTS, can.name, "skip", "effective", f"{can.name}: not judged: {made_up}",
                          evidence=(can.lower.link.width.source,))
            continue
        # An idle GPU does not slow a link above its own down: this is the speed that copies get.
        link = replace(can, loaded=True) if can.name in slow_now else can
        registers = [end.express.value for end in link.ends]
        sizes = [express.payload or 0 if express else 0 for express in registers]
        rate, evidence = link.rate(min(sizes)) if all(sizes) else None, (link.lower.link.width.source,)
        own = [ways[topology.devices[gpu].bdf][-1].rate(min(sizes)) or 0 for gpu in gpus] if rate else [0]
        if rate is None:
            unread = next((end.express for end in link.ends if not end.express.known), None)
            yield Finding(_ID, UNREAD, link.name, "unknown", "effective",
                          f"speed, width or MPS of {link.name} is not known: {unread.why() if unread else '?'}",
                          "", "", (unread.source,) if unread else evidence,
                          absence=unread.absence if unread else None)
            continue
        names = some([f"GPU{gpu}" for gpu in gpus], _NAMED)
        text = (f"{names} {'share' if len(gpus) > 1 else 'has'} {link.text} of {link.name}: host copies of all at once "
                f"get {rate / len(gpus):.1f} GB/s each{_speed(can, link, min(sizes), len(gpus))}")
        slow = rate < max(own) * 0.99
        yield Finding(_ID, "slower-than-board" if slow else "ok", link.name, "warn" if slow else "pass", "effective",
                      text, link.text,
                      f"an uplink of {max(own):.1f} GB/s, as a board's own link" if slow else "", evidence,
                      (_SPEED if link.loaded else _FIX) if slow else None)


def _slow_now(case: Case, device: Device) -> list[PcieLink]:
    """Return the links above a GPU's own that run slower than they can, whether the GPU works or not."""
    found = slow_uplinks(case.snapshot.topology, device, lambda bdf: busy(case.snapshot, bdf))
    return found[1] if found else []


def _made_up(case: Case, gpu: int) -> str:
    """Return why the links above this GPU say nothing about real ones; "" where they do."""
    topology = case.snapshot.topology
    if case.guest:
        return ("this is a virtual machine, whose hypervisor made the ports above the accelerator up; the uplinks that "
                "count are those of its host")
    port = topology.emulated(topology.devices[gpu].path)
    return f"{port} is an emulated port, which hides the real links" if port else ""


def _speed(can: PcieLink, link: PcieLink, packet: int, gpus: int) -> str:
    """Return how the speed of now differs from the one that the link can have, and of which of them the figure is."""
    if not can.gen or not can.top_gen or can.gen >= can.top_gen:
        return ""
    if not link.loaded:
        return (f"; now it runs at Gen{can.gen}, as links do to save power: the figure is of Gen{can.top_gen} "
                "(see link-speed)")
    when, see = ("under load", "") if can.loaded else ("now", " (see link-speed)")
    top = (replace(can, loaded=False).rate(packet) or 0) / gpus
    return f"; {when} it runs at Gen{can.gen}, and Gen{can.top_gen} would give {top:.1f} GB/s each{see}"
