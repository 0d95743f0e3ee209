"""link-width: every link above the accelerator has the declared lanes, or without a declaration all that it could have.

Width only: at idle a link runs at 2.5 GT/s to save power, so speed means something only under load (link-speed).
Where only a text of nvidia-smi or the kernel log tells the lanes, link_from_smi.py and link_from_log.py judge them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...facts.pci.devices import Device
from ...facts.pci.pcie_link import PcieLink
from ...model.fact import Absence, Fact
from ...model.finding import Finding, Place, Remedy
from ...spec.boards import board as board_of
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from .link_common import at_hops, each, of_guest

CHECK = Check(
    "link-width", "declared lanes at the accelerator and every hop above it",
    Heading.LINKS, 10, Family.PCIE, TOPO, needs=(Needs.TREE,), judges=("pcie.width", "pcie.bridge.width"),
)
_ID = CHECK.id
CODES = {
    "narrower-than-declared": "A link on the path has fewer lanes than the specification declares.",
    "lost-lanes": "A link has fewer lanes than both of its ends have.",
    "fewer-lanes-than-board": "A link has fewer lanes than the board, because the slot or cable has no more.",
    "fewer-lanes-than-known": "A link has fewer lanes than such a board has, whose own register is not shown.",
    "board-lanes-unread": "How many lanes the board has cannot be read.",
    "own-link-only": "The text shows the lanes of the GPU's own link alone; the links above it are not given.",
    "narrow-at-boot": "The kernel log says that a GPU's way had fewer lanes than the GPU when the kernel found it.",
}
_SEAT = Remedy("reseat the board or riser, and look for slot bifurcation in the BIOS", place=Place.MACHINE)
_SLOT = Remedy("where the board shall have all of its lanes, use a wider slot or change the bifurcation in the BIOS",
               place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.accelerators.link_width

    def one(subject: str, chain: list[Device]) -> Finding:
        if wanted:
            return _declared(subject, chain, wanted)
        found = _own(case, subject, chain)
        return of_guest(case, found, chain, "the lanes that count are those",
                        f"{subject} itself shows x{chain[-1].link.width.value}")

    yield from each(case, _ID, one, registers=False)


def _declared(subject: str, hops: list[Device], wanted: int) -> Finding:
    expected = f"x{wanted} at every hop"
    evidence = tuple(hop.link.width.source for hop in hops)
    narrow = [f"{hop.bdf} x{hop.link.width.value}" for hop in hops if (hop.link.width.value or wanted) < wanted
              or hop.link.width.value == 0]
    if narrow:
        return Finding(_ID, "narrower-than-declared", subject, "fail", "effective",
                       f"{subject} is held back by {', '.join(narrow)}",
                       _observed(hops), expected, evidence, _SEAT)
    return _unread(subject, hops, expected) or Finding(
        _ID, "ok", subject, "pass", "effective", f"{subject} has x{wanted} {at_hops(hops)}", _observed(hops),
        expected, evidence)


def _own(case: Case, subject: str, hops: list[Device]) -> Finding:
    """Return the finding without a declaration. A link that has fewer lanes than both its ends is damaged; one that has
    fewer than the board because a port has no more is how the box is built."""
    links = case.snapshot.topology.links_above(hops[-1])
    board = hops[-1].link.max_width.value
    evidence = tuple(hop.link.width.source for hop in hops)
    lost = [f"{link.name} x{link.width} of x{link.max_width}" for link in links if _lost(link)]
    less = [f"{link.name} x{link.width}" for link in links if link.width and link.width < (board or 0)]
    if lost:
        return Finding(_ID, "lost-lanes", subject, "fail", "effective", f"{subject} is held back by {', '.join(lost)}",
                       _observed(hops), "the lanes that both ends of a link have", evidence, _SEAT)
    if less:
        return Finding(_ID, "fewer-lanes-than-board", subject, "warn", "effective",
                       f"{subject}: {', '.join(less)}: no more lanes are wired there; the board has "
                       f"x{board}", _observed(hops), f"x{board} at every hop", evidence, _SLOT)
    most, told = _known_lanes(case, hops[-1]) if board is None else (None, "")
    if most and (short := [f"{link.name} x{link.width}" for link in links if link.width and link.width < most]):
        return Finding(_ID, "fewer-lanes-than-known", subject, "warn", "effective", f"{subject}: {', '.join(short)}, "
                       f"and {told} x{most}; which end is short, LnkCap says: add: sudo lspci -nnvvv", _observed(hops),
                       f"x{most} at every hop", evidence, _SEAT)
    if board is None:
        code, what = "board-lanes-unread", f"how many lanes {subject} could have is not known"
        return _silent(subject, hops, "", code, what) or _unknown(
            subject, hops, "", code, what, hops[-1].link.max_width)
    where = at_hops(hops) + ("" if hops[-1].chain.value is None else ", all that the board has")
    return _unread(subject, hops, f"x{board}") or Finding(
        _ID, "ok", subject, "pass", "effective", f"{subject} has x{board} {where}",
        _observed(hops), f"x{board} at every hop", evidence)


def _known_lanes(case: Case, device: Device) -> tuple[int | None, str]:
    """Return how many lanes a board has whose own register is not shown: by the table of boards, else as many as
    another board of the same kind uses here; and who says it."""
    known = board_of(device.ids)
    if known and known.link_width:
        return known.link_width, f"{known.name} has"
    others = [other.link.width.value or 0 for other in case.snapshot.topology.devices
              if other.ids == device.ids and other.bdf != device.bdf]
    return max(others, default=None), "another board of this kind has"


def _lost(link: PcieLink) -> bool:
    return link.width is not None and link.max_width is not None and link.width < link.max_width


def _unread(subject: str, hops: list[Device], expected: str) -> Finding | None:
    # A function of a root bus without a link of its own has no such file. Only its registers prove that it has none.
    unread = [fact for hop in hops for fact in (hop.link.width, hop.link.max_width) if fact.value is None and not (
        fact.missing and hop.express.known and (hop.express.value is None or hop.express.value.link is None))]
    if not unread and hops[-1].link.width.value is not None:
        return None
    what = f"the link width of {subject} is unknown"
    return _silent(subject, hops, expected, UNREAD, what) or _unknown(
        subject, hops, expected, UNREAD, what, (unread or [hops[-1].link.width])[0])


def _silent(subject: str, hops: list[Device], expected: str, code: str, what: str) -> Finding | None:
    """Of a device that does not answer no output has the link, so none is asked for."""
    lost = next((hop.express for hop in hops if hop.express.absence is Absence.LOST), None)
    return _unknown(subject, hops, expected, code, what, lost) if lost is not None else None


def _unknown(subject: str, hops: list[Device], expected: str, code: str, what: str, why: Fact[Any]) -> Finding:
    return Finding(_ID, code, subject, "unknown", "effective", f"{what}: {why.why()}", _observed(hops), expected,
                   tuple(hop.link.width.source for hop in hops), absence=why.absence)


def _observed(hops: list[Device]) -> str:
    return " > ".join(f"{hop.bdf} x{'?' if hop.link.width.value is None else hop.link.width.value}" for hop in hops)
