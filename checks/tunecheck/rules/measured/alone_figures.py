"""What the checks of the trial of single GPUs share: its figures, why there are none, what a link carries."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.loaded_links import links_above
from ...facts.pci.pcie_link import hops
from ...model.finding import Finding, Remedy
from ...model.measurement import Measurement
from ..codes import MEASURED_IN_PART, NOT_MEASURED, TRIAL_FAILED, TRIAL_HUNG, WRONG_DATA
from ..context import Case
from .pair_figures import chosen, measured

__all__ = ["BAD", "GOOD", "carries", "name", "named", "rows", "unmeasured", "wrong"]

#: Shares of what a link carries, as for pairs (pair_expected.py, p2p_bandwidth.py). 2 x H200 on Gen5 x16: 0.96.
GOOD, BAD = 0.9, 0.78
_TRIAL = "alone"


def name(case: Case, number: int) -> str:
    """Return a GPU's name for a sentence: ``GPU0 0000:03:00.0``; the number alone where the tree does not have it."""
    devices = case.snapshot.topology.devices
    return f"GPU{number} {devices[number].bdf}" if number < len(devices) else f"GPU{number}"


def unmeasured(case: Case, check: str, trial: str) -> Iterator[Finding]:
    """Yield the finding that says why nothing, or not all, can be judged: no trial ran, it hung, it failed, or figures
    of a GPU are missing."""
    result = measured(case)
    seen = {each.a for each in result.find(trial)} | {each["a"] for each in result.wrong if each["trial"] == trial}
    hung = any(hang.trial == _TRIAL for hang in result.hangs)
    if not seen and not hung and _TRIAL not in result.failures:
        ran = f"{_TRIAL} seconds" in result.notes and chosen(case)
        code, outcome, text = (MEASURED_IN_PART, "unknown", "not measured, though the trial ran") if ran else \
            (NOT_MEASURED, "skip", "the trial of single GPUs did not run")
        yield Finding(check, code, "GPUs", outcome, "behaviour", text)
        return
    missing = ", ".join(f"GPU{number}" for number in chosen(case) if number not in seen)
    reason = ("the trial hung (trial-hang)" if hung else result.failures.get(_TRIAL, "no figure of them"))
    if missing or hung or _TRIAL in result.failures:
        code = TRIAL_HUNG if hung else TRIAL_FAILED if _TRIAL in result.failures else MEASURED_IN_PART
        yield Finding(check, code, missing or "GPUs", "unknown", "behaviour", "not measured to the end"
                      f"{': ' if missing else ''}{missing}: {reason}")


def wrong(case: Case, check: str, trial: str, fix: Remedy) -> Iterator[Finding]:
    """Yield a finding for each piece of data of this trial that did not arrive as written, or did not stay so."""
    for each in measured(case).wrong:
        if each["trial"] == trial:
            who = name(case, each["a"])
            yield Finding(check, WRONG_DATA, who, "fail", "behaviour", f"{who}: {each['way']} of {each['size']} bytes: "
                          f"{each['words']} wrong words, one at offset {each['offset']:#x}", "wrong data",
                          "every word as written", remedy=fix)


def rows(case: Case, trial: str) -> dict[int, list[Measurement]]:
    """Return the figures of a trial by the number of the GPU."""
    result: dict[int, list[Measurement]] = {}
    for each in measured(case).find(trial):
        result.setdefault(each.a or 0, []).append(each)
    return result


def named(figures: list[Measurement]) -> str:
    """Return figures of one unit as text: ``host to device 55.6, device to host 55.4 GB/s``."""
    return ", ".join(f"{each.what} {each.value:.1f}" for each in figures) + f" {figures[0].unit}"


def carries(case: Case, number: int) -> tuple[float | None, str]:
    """Return the GB/s that the links from the root port to the GPU carry one way at their width, speed under load
    and packet size, and the slowest link; else None and why that is not known."""
    topology = case.snapshot.topology
    if number >= len(topology.devices):
        return None, "the GPU is not in the PCI tree"
    device = topology.devices[number]
    if device.chain.value is None:
        return None, f"its place in the tree is not known: {device.chain.why()}"
    chain, links = hops(topology.bridges, device), links_above(case.snapshot)[device.bdf]
    if topology.emulated(device.path):
        return None, "a virtual machine hides the real links"
    sizes = [hop.express.value.payload if hop.express.value else None for hop in chain]
    packet = min((size for size in sizes if size), default=None) if all(sizes) else None
    rates = [(rate, link) for link in links if packet and (rate := link.rate(packet))]
    if not rates or len(rates) < len(links):
        return None, "speed, width or packet size of a link is not known"
    rate, slowest = min(rates, key=lambda row: row[0])
    return rate, f"{slowest.name} ({slowest.text})"
