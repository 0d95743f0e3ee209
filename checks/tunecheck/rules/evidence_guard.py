"""Turns a pass or a skip into unknown where the PCI tree, or a part of it, is not known: silence is no evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..model.fact import Absence
from ..model.finding import Finding
from .check import Needs
from .codes import MAYBE_ACCELERATOR, NO_PORT, PATH_UNREAD, TREE_UNREAD
from .context import Case
from .index import BY_ID
from .part_of_devices import shown_by_a_part

__all__ = ["NO_PORT_TEXT", "limited", "no_tree"]

NO_PORT_TEXT = "no port lies between accelerators"

_NONE_BETWEEN = ("ports", "pairs")


def limited(case: Case, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, with unknown in place of a skip or a pass for which the tree has no evidence. What is unknown
    because only the host itself could tell it becomes a skip."""
    topology = case.snapshot.topology
    for finding in findings:
        if finding.outcome == "unknown" and finding.absence is Absence.ONLY_ON_HOST:
            # Nothing that the operator could add to the import would answer it, so the report does not ask.
            yield replace(finding, outcome="skip", remedy=None)
            continue
        if topology.certain or finding.outcome not in ("pass", "skip"):
            yield finding
            continue
        needs = _needs(finding)
        if candidates := _could_change(case, finding):
            yield replace(finding, outcome="unknown", code=MAYBE_ACCELERATOR, text=f"whether {candidates} is an "
                          f"accelerator is not known; of those that are known: {finding.text}")
            continue
        if finding.outcome == "skip" and topology.doubt and _too_few_listed(case, finding):
            yield shown_by_a_part(finding, topology.doubt)
            continue
        blind = Needs.TREE in needs or finding.code == NO_PORT
        if blind and topology.accelerators.value is None:
            yield no_tree(case, finding.id, finding.subject, finding.layer)
        elif topology.doubt and (Needs.WHOLE_TREE in needs or (
                finding.id == "acs-redirect" and finding.subject in _NONE_BETWEEN)):
            yield shown_by_a_part(finding, topology.doubt)
        elif Needs.WAY in needs and (unread_path := _unknown_path(case)):
            yield replace(finding, outcome="unknown", code=PATH_UNREAD,
                          text=f"{unread_path}; of what is known: {finding.text}")
        else:
            yield finding


def _needs(finding: Finding) -> tuple[Needs, ...]:
    check = BY_ID.get(finding.id)
    return check.needs if check else ()


def _too_few_listed(case: Case, finding: Finding) -> bool:
    """Whether the check was skipped because no accelerator, or no second one, is among the devices that are listed."""
    count, needs = len(case.snapshot.topology.devices), _needs(finding)
    if finding.id == "p2p-capability" and finding.subject == "pairs":
        return True     # the driver may also have fewer than two of the listed boards
    return (not count and (Needs.TREE in needs or Needs.GPUS in needs)) or (count < 2 and Needs.PAIRS in needs)


def _unknown_path(case: Case) -> str:
    """Return why the path to an accelerator is not known, "" where all paths are. What is on such a path cannot be
    counted."""
    topology = case.snapshot.topology
    gpu = next((device for device in topology.devices if device.chain.value is None), None)
    return f"what is above {gpu.bdf} is not known: {gpu.chain.why()}" if gpu else ""


def _could_change(case: Case, finding: Finding) -> str:
    """Return the devices without ids that would change this finding if they were accelerators, "" where there is none.
    Only a finding about "none" or "all" can change. accelerator-count names these devices once."""
    topology, needs = case.snapshot.topology, _needs(finding)
    if Needs.PAIRS in needs and finding.outcome == "skip" and len(topology.devices) < 2:
        return ", ".join(each.bdf for each in topology.unidentified)
    if finding.outcome == "skip" and Needs.GPUS in needs and not topology.devices:
        return ", ".join(each.bdf for each in topology.unidentified)
    if finding.id == "link-errors":
        # A device on a root bus has no port above it.
        return ", ".join(each.bdf for each in topology.unidentified if len(each.path) != 1)
    if Needs.SIBLINGS in needs:
        return ", ".join(each.bdf for each in topology.unidentified if set(each.path[1:-1]) & set(topology.bridges))
    return ""


def no_tree(case: Case, check: str, subject: str, layer: str = "effective") -> Finding:
    """Return the finding that nothing is known about the PCI devices."""
    unread = case.snapshot.topology.accelerators
    return Finding(check, TREE_UNREAD, subject, "unknown", layer, f"the PCI devices are not known: {unread.why()}",
                   evidence=(unread.source,), absence=unread.absence)
