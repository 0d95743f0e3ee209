"""uplink-shared: how many accelerators share one uplink of a switch, and that it is no slower than each one's link."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.loaded_links import links_above, uplinks
from ...facts.pci.pcie_link import PcieLink
from ...model.finding import Finding, Place, Remedy
from ...util.text import some
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case

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
    for link, gpus in above:
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
                f"get {rate / len(gpus):.1f} GB/s each{_speed(link)}")
        slow = rate < max(own) * 0.99
        yield Finding(_ID, "slower-than-board" if slow else "ok", link.name, "warn" if slow else "pass", "effective",
                      text, link.text,
                      f"an uplink of {max(own):.1f} GB/s, as a board's own link" if slow else "", evidence,
                      (_SPEED if link.loaded else _FIX) if slow else None)


def _speed(link: PcieLink) -> str:
    """Return how the speed of now differs from the one that the link can have, which counts unless a GPU works."""
    if not link.gen or not link.top_gen or link.gen >= link.top_gen:
        return ""
    gens = f"Gen{link.gen} of Gen{link.top_gen}"
    return f"; under load it runs at {gens}" if link.loaded else f"; now it runs at {gens} (see link-speed)"
