"""What a check may not conclude where the PCI tree is not known, or only a part of it: silence is no evidence then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..model.fact import Absence
from ..model.finding import NO_PORT, Finding
from .check import Needs
from .context import Case
from .index import BY_ID

__all__ = ["NO_PORT_TEXT", "limited", "no_tree"]

NO_PORT_TEXT = "no port lies between accelerators"

_NONE_BETWEEN = ("ports", "pairs")


def limited(case: Case, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with unknown in place of a skip or pass that the tree does not bear out."""
    topology = case.snapshot.topology
    for finding in findings:
        needs = _needs(finding)
        if finding.outcome == "unknown" and finding.absence is Absence.ONLY_ON_HOST:
            # Nothing that could be added to the import would answer it: no question to whoever made it.
            yield replace(finding, outcome="skip", remedy=None)
            continue
        good = finding.outcome in ("pass", "skip")
        if good and (maybe := _could_change(case, finding)):
            yield replace(finding, outcome="unknown", text=f"whether {maybe} is an accelerator is not known; of those "
                          f"that are known: {finding.text}")
            continue
        if finding.outcome == "skip" and topology.doubt and _none_here(case, finding):
            yield replace(finding, outcome="unknown", text=f"{topology.doubt}; of what it shows: {finding.text}")
            continue
        blind = Needs.TREE in needs or finding.code == NO_PORT
        if good and blind and topology.accelerators.value is None:
            yield no_tree(case, finding.id, finding.subject, finding.layer)
        elif good and topology.doubt and (Needs.WHOLE_TREE in needs or (
                finding.id == "acs-redirect" and finding.subject in _NONE_BETWEEN)):
            yield replace(finding, outcome="unknown", text=f"{topology.doubt}; of what it shows: {finding.text}")
        elif good and Needs.WAY in needs and (hidden := _hidden(case)):
            yield replace(finding, outcome="unknown", text=f"{hidden}; of what is known: {finding.text}")
        else:
            yield finding


def _needs(finding: Finding) -> tuple[Needs, ...]:
    check = BY_ID.get(finding.id)
    return check.needs if check else ()


def _none_here(case: Case, finding: Finding) -> bool:
    """Whether the check was skipped because no accelerator, or no second one, is among the devices that are listed."""
    count, needs = len(case.snapshot.topology.devices), _needs(finding)
    if finding.id == "p2p-capability" and finding.subject == "pairs":
        return True     # also where the driver has fewer than two of the boards that are listed
    return (not count and (Needs.TREE in needs or Needs.GPUS in needs)) or (count < 2 and Needs.PAIRS in needs)


def _hidden(case: Case) -> str:
    """Why the way from the root to an accelerator is not known: what is on it cannot be counted then."""
    topology = case.snapshot.topology
    gpu = next((device for device in topology.devices if device.chain.value is None), None)
    return f"what is above {gpu.bdf} is not known: {gpu.chain.why()}" if gpu else ""


def _could_change(case: Case, finding: Finding) -> str:
    """The device without ids that would change what is said of "none" or "all", were it an accelerator. What is said
    of a named accelerator, pair or port stays as it is: accelerator-count names the device, once."""
    topology, needs = case.snapshot.topology, _needs(finding)
    if Needs.PAIRS in needs and finding.outcome == "skip" and len(topology.devices) < 2:
        return ", ".join(each.bdf for each in topology.unidentified)
    if finding.outcome == "skip" and Needs.GPUS in needs and not topology.devices:
        return ", ".join(each.bdf for each in topology.unidentified)
    if finding.id == "link-errors":
        # One directly on a root bus has no port above it.
        return ", ".join(each.bdf for each in topology.unidentified if len(each.path) != 1)
    if Needs.SIBLINGS in needs:
        return ", ".join(each.bdf for each in topology.unidentified if set(each.path[1:-1]) & set(topology.bridges))
    return ""


def no_tree(case: Case, check: str, subject: str, layer: str = "effective") -> Finding:
    """Nothing is known about the PCI devices."""
    found = case.snapshot.topology.accelerators
    return Finding(check, subject, "unknown", layer, f"the PCI devices are not known: {found.why()}",
                   evidence=(found.source,), absence=found.absence)
