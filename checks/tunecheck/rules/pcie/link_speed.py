"""link-speed: under load every link above the accelerator runs as fast as both its ends and the board can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.loaded_links import busy
from ...facts.pci.devices import Device
from ...facts.pci.pcie_link import PcieLink
from ...model.absence import Absence
from ...model.command import addresses
from ...model.finding import Finding, Place, Remedy
from ...parsers.pci.pcie_cap import generation
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import OK, UNREAD
from ..context import Case
from .link_common import board_gen, each, named, of_guest
from .slow_uplinks import slow_uplinks

CHECK = Check(
    "link-speed", "under load every link runs as fast as its ends and the board",
    Heading.LINKS, 20, Family.PCIE, TOPO, needs=(Needs.TREE,), judges=("pcie.gen_max", "pcie.gen_target"),
    could_not_look=("load-unread",),
)
_ID = CHECK.id
CODES = {
    "slow-under-load": "A link runs slower than it can while the GPU works.",
    "slower-than-board": "A link cannot run as fast as the board.",
    "held-by-register": "A register of the port above a link holds it below what both its ends and the board can.",
    "idle": "A link runs slower than it can, and the GPU does not work now: that saves power.",
    "load-unread": "A link runs slower than it can, and whether the GPU works now is not known.",
    "below-peers": "A link runs slower than it can, those of equal GPUs run faster, and no idle GPU explains it.",
    "slow-above": "A link above the GPU's own runs slower than it can, which an idle GPU does not explain.",
    "own-link-only": "The text shows the speed of the GPU's own link alone; the links above it are not given.",
    "slow-at-boot": "The kernel log says that a GPU's way was slower than the GPU when the kernel found it.",
}
_FIX = Remedy("reseat board, riser and cable; set the slot's speed in the BIOS to Auto; see link-errors",
              place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    def one(subject: str, chain: list[Device]) -> Finding:
        shown = chain[-1].link.speed.value
        return of_guest(case, _judge(case, subject, chain[-1]), chain, "the speed that counts is that",
                        f"{subject} itself shows Gen{generation(shown) if shown else '?'}")

    yield from each(case, _ID, one, registers=False)


def _judge(case: Case, subject: str, device: Device) -> Finding:
    links, board, load = case.snapshot.topology.links_above(device), board_gen(device), busy(case.snapshot, device.bdf)
    unread = [link.name for link in links if not (link.gen and link.top_gen)]
    slow = [link for link in links if (link.gen or 0) < (link.top_gen or 0)]
    less = [link for link in links if (link.top_gen or 9) < (board or 0)]
    held = [link for link in less if link.held]
    alone = all(link.held and (link.max_gen or 0) >= (board or 0) for link in less)
    limit = f"{', '.join(map(_limit, less))}; the board is Gen{board}" if less else ""
    observed, fix, absence = "", _FIX, None
    code, outcome, text = OK, "pass", f"Gen{links[-1].gen}, and no link above it runs below what it can"
    if unread:
        code, outcome = UNREAD, "unknown"
        text, absence = _what_is_missing(device, links, unread)
    elif slow and load:
        # The page's tree marks the links that are named here.
        code, outcome, observed = "slow-under-load", "fail", named(slow)
        text = f"under load, {observed}"
    elif less:
        code, outcome, text = "held-by-register" if alone else "slower-than-board", "warn", limit
        fix = _let_go(held, alone)
    elif slow and load is None and (peers := _faster_peers(case, device, slow)):
        code, outcome = "below-peers", "warn"
        text = (f"{named(slow)}; others of the same kind run at full speed ({', '.join(peers)}): a link that "
                "saves power is at Gen1. Under load nvidia-smi -q shows it for certain (PCIe Generation, Current)")
    elif slow:
        idle = "idle" if load is False else "idle or not is not known"
        code, outcome = "idle" if load is False else "load-unread", "skip"
        text = f"{named(slow)}; {idle}: low speed saves power; judged under load by tunecheck p2p, or see "
        text += "nvidia-smi -q (PCIe Generation, Current) while the GPU works"
    evidence: tuple[str, ...] = (device.link.speed.source,)
    above = None if outcome == "fail" else slow_uplinks(
        case.snapshot.topology, device, lambda bdf: busy(case.snapshot, bdf))
    if above:
        code, outcome, observed, fix = above[0], "warn", named(above[1]), fix if less else _FIX
        text = "; ".join(part for part in (above[2], limit) if part)
        evidence = tuple(link.lower.link.speed.source for link in above[1])
    return Finding(_ID, code, subject, outcome, "effective", f"{subject}: {text}", observed,
                   f"Gen{board} at every link", evidence,
                   fix if outcome in ("fail", "warn") else None, absence=absence if code == UNREAD else None)


def _limit(link: PcieLink) -> str:
    """Return why a link is below the board's speed: a register of the port above holds it there, or an end."""
    if link.held and link.upper:
        return (f"{link.name} is held at Gen{link.held} of Gen{link.max_gen} by {link.upper.bdf} (Target Link Speed in "
                "Link Control 2)")
    return f"{link.name} reaches Gen{link.top_gen} at most"


def _let_go(held: list[PcieLink], alone: bool) -> Remedy:
    """Return what to do about links that a register holds; where more than these registers is in the way (not
    ``alone``), also about that."""
    if not held:
        return _FIX
    (port, best), more = next((link.upper.bdf, link.max_gen) for link in held if link.upper), len(held) - 1
    others = f"; {more} more likewise" if more else ""
    now = ("; until the next boot, while no GPU below it works: `setpci -s {port} CAP_EXP+30.w={gen}:f`, then "
           "`setpci -s {port} CAP_EXP+10.w=20:20` to train the link anew" + others) if addresses((port,)) else others
    found = Remedy.typed("set the slot's speed in the BIOS to Auto, or end what writes this register at boot" + now,
                         needs_reboot=True, place=Place.FIRMWARE, port=port, gen=f"{best:x}")
    return found if alone else replace(found, text=f"{found.text}; for what is slow without it: {_FIX.text}")


def _what_is_missing(device: Device, links: list[PcieLink], unread: list[str]) -> tuple[str, Absence | None]:
    """Return what is not known of a speed, the one of now or only what both ends can have, and the code of why."""
    without = [link for link in links if not link.gen]
    if without or not device.link.speed.known:
        text = f"not known: the speed of {', '.join(unread)}; {device.link.speed.reason or 'it is not shown'}"
        return text, device.link.speed.absence
    why = device.link.max_speed.reason if not device.link.max_speed.known else "LnkCap is not shown"
    now = ", ".join(f"{link.name} runs at Gen{link.gen}" for link in links)
    return f"what both ends can is not known: {why}; {now}", device.link.max_speed.absence


def _faster_peers(case: Case, device: Device, slow: list[PcieLink]) -> list[str]:
    """Return the accelerators of the same kind whose links all run at full speed, where none of the slow links is at
    Gen1, as it is to save power. Empty where that does not hold."""
    topology = case.snapshot.topology
    if any((link.gen or 0) < 2 for link in slow):
        return []
    return [f"GPU{index}" for index, other in enumerate(topology.devices) if other.ids == device.ids
            and other.bdf != device.bdf and (above := topology.links_above(other))
            and all(link.gen and link.gen == link.top_gen for link in above)]
