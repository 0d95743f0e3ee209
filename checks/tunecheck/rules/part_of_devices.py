"""Findings where the list of PCI devices is only a part: the text of an import was cut, filtered or damaged."""

from __future__ import annotations

from dataclasses import replace

from ..model.finding import Finding, Remedy
from .codes import DEVICES_INCOMPLETE

__all__ = ["GIVE_ALL", "only_of_a_part", "shown_by_a_part"]

GIVE_ALL = Remedy.typed("give the list again, whole: all that `sudo lspci -nnvvv` prints on the box, from the first "
                         "line to the last, not through grep or head")


def shown_by_a_part(finding: Finding, doubt: str) -> Finding:
    """Return ``finding`` as unknown, because only a part of the devices is known. ``doubt``: why the list may be a
    part."""
    return replace(finding, outcome="unknown", text=f"{doubt}; of what it shows: {finding.text}",
                   code=DEVICES_INCOMPLETE, remedy=GIVE_ALL)


def only_of_a_part(finding: Finding) -> bool:
    """Whether the finding is unknown only because the list of devices is a part."""
    return finding.outcome == "unknown" and finding.code == DEVICES_INCOMPLETE
