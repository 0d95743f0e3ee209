"""What the checks of links have in common: one finding for each accelerator, over every hop above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...facts.loaded_links import links_above
from ...facts.pci.devices import Device
from ...facts.pci.pcie_link import PcieLink, hops
from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding
from ...parsers.pci.pcie_cap import generation
from ...parsers.pci.switch_chips import EMULATED
from ..codes import NO_ACCELERATOR, NO_LINK, PATH_UNREAD, REGISTERS_UNREAD, VIRTUAL_PORTS
from ..context import Case
from .link_from_log import from_log
from .link_from_smi import from_smi, worse_by_smi

__all__ = ["at_hops", "board_gen", "cost", "each", "named", "no_accelerator", "of_guest", "payload", "unread"]


def each(case: Case, check: str, judge: Callable[[str, list[Device]], Finding], registers: bool = True
         ) -> Iterator[Finding]:
    """Yield one finding for each accelerator. ``judge`` gets "GPU0 0000:03:00.0" and the hops from the root port down.
    Where ``registers`` are asked for and one hop's cannot be read, a finding that is neither fail nor warn is unknown;
    an accelerator that is not PCI Express is skipped. Where the way up to the root port is not known, what is good at
    the accelerator itself is no pass: the hops above it decide."""
    if not case.snapshot.topology.devices:
        yield from [*from_log(case, check), *from_smi(case, check)] or [no_accelerator(check)]
    for index, device in enumerate(case.snapshot.topology.devices):
        subject, chain = f"GPU{index} {device.bdf}", hops(case.snapshot.topology.bridges, device)
        if device.link.width.missing or (device.express.known and device.express.value is None):
            yield Finding(check, NO_LINK, subject, "skip", "effective", f"{subject} has no PCI Express link of its own")
        else:
            finding = judge(subject, chain)
            unread_hop = unread(check, subject, chain) if registers else None
            if unread_hop is not None and finding.outcome not in ("fail", "warn"):
                finding = unread_hop
            if device.chain.value is None and finding.outcome in ("pass", "skip"):
                finding = replace(finding, outcome="unknown", code=PATH_UNREAD,
                                text=f"{finding.text}; the ports above it are not known: {device.chain.reason}",
                                evidence=(*finding.evidence, device.chain.source))
            yield worse_by_smi(case, check, device, finding)


def of_guest(case: Case, found: Finding, chain: list[Device], count: str, shows: str) -> Finding:
    """Return the finding, and a skip in place of a pass that ports of a virtual machine gave: they say nothing of the
    real ones. ``count``: what of the host counts; ``shows``: what the accelerator shows itself."""
    if not case.guest or len(chain) < 2 or found.outcome != "pass":
        return found
    return replace(found, code=VIRTUAL_PORTS, outcome="skip", remedy=None, text="not judged: this is a virtual "
                   "machine, whose hypervisor made the ports above the accelerator up; "
                   f"{count} of its host ({shows})")


def at_hops(chain: list[Device]) -> str:
    """Return where a text about ``chain`` holds: at every hop, or where the way up is not known at the accelerator
    alone."""
    return "at its own end" if chain[-1].chain.value is None else "at every hop"


def no_accelerator(check: str) -> Finding:
    return Finding(check, NO_ACCELERATOR, "links", "skip", "effective", "no accelerator found")


def unread(check: str, subject: str, chain: list[Device]) -> Finding | None:
    """Return the finding where a hop's PCI Express registers are not known; None where those of all are."""
    hop = next((hop for hop in chain if not hop.express.known), None)
    if hop is not None:
        root = AS_ROOT if hop.express.absence is Absence.NO_PERMISSION else None
        return Finding(check, REGISTERS_UNREAD, subject, "unknown", "effective",
                       f"{subject}: the registers of {hop.bdf} are not known: "
                       f"{hop.express.reason}", evidence=(hop.express.source,), remedy=root,
                       absence=hop.express.absence)
    return None


def payload(chain: list[Device]) -> list[tuple[Device, int | None]]:
    """Return the MPS in bytes of every hop that is PCI Express and not emulated; None for one whose register holds a
    code that means nothing."""
    return [(hop, hop.express.value.payload) for hop in chain if hop.express.value and hop.ids not in EMULATED]


def board_gen(device: Device) -> int | None:
    """Return the PCIe generation of the board itself, as its register states it. NVML is not asked here: what only it
    says could be left out, and the verdict would be better without it."""
    return generation(device.link.max_speed.value or "")


def named(links: list[PcieLink]) -> str:
    """Return slow links as text, one after the other: ``0000:00:04.0-0000:01:00.0 at Gen4 of Gen5``."""
    return ", ".join(f"{slow.name} at Gen{slow.gen} of Gen{slow.top_gen}" for slow in links)


def cost(case: Case, chain: list[Device]) -> str:
    """Return what MPS 128 costs at the accelerator's own link where every hop could do 256: `` where every hop can do
    256: 53.1 instead of 57.6 GB/s``; "" where a hop that is known cannot. Hops that are not known are named."""
    able = [hop.express.value.payload_max or 128 for hop in chain if hop.express.value]
    if not able or min(able) < 256:
        return ""
    link = links_above(case.snapshot)[chain[-1].bdf][-1]
    small, large = link.rate(128), link.rate(256)
    figures = f": {small:.1f} instead of {large:.1f} GB/s" if small and large else ""
    dark = ", ".join(hop.bdf for hop in chain if not hop.express.value)
    return f" where every hop{' that is known' if dark else ''} can do 256{figures}" + (
        f" (not known: {dark})" if dark else "")
