"""What a check may not conclude where the PCI tree is not known, or only a part of it: silence is no evidence then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..host.base import NO_TEXT
from .finding import Case, Finding

__all__ = ["NO_PORT", "limited", "no_tree"]

NO_PORT = "no port lies between accelerators"

#: Checks that look at nothing but the tree: without it they know nothing, whatever they would skip for.
_TREE = frozenset({
    "topo-agreement", "p2p-capability", "link-width", "link-speed", "link-aspm", "link-payload", "link-errors",
    "switch-chip", "uplink-shared", "uplink-neighbours", "acs-redirect", "iommu-mode", "memlock", "nouveau-loaded",
    "vfio-bound",
})
#: Checks that count what is there, or pass for what is not.
_COUNTING = frozenset({"switch-chip", "uplink-shared", "uplink-neighbours", "acs-persistence", "iommu-trap"})
_NONE_BETWEEN = ("ports", "pairs")


def limited(case: Case, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with unknown in place of a skip or pass that the tree does not bear out."""
    topology = case.snapshot.topology
    for finding in findings:
        if finding.outcome == "unknown" and NO_TEXT in finding.text:
            # Nothing that could be added to the import would answer it: no question to whoever made it.
            yield replace(finding, outcome="skip", remedy=None)
            continue
        good = finding.outcome in ("pass", "skip")
        blind = finding.id in _TREE or finding.text == NO_PORT
        if good and blind and topology.accelerators.value is None:
            yield no_tree(case, finding.id, finding.subject, finding.layer)
        elif good and topology.doubt and (finding.id in _COUNTING or (
                finding.id == "acs-redirect" and finding.subject in _NONE_BETWEEN)):
            yield replace(finding, outcome="unknown", text=f"{topology.doubt}; of what it shows: {finding.text}")
        else:
            yield finding


def no_tree(case: Case, check: str, subject: str, layer: str = "effective") -> Finding:
    """Nothing is known about the PCI devices."""
    found = case.snapshot.topology.accelerators
    return Finding(check, subject, "unknown", layer, f"the PCI devices are not known: {found.why()}",
                   evidence=(found.source,))
