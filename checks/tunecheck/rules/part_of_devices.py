"""What is said where the list of PCI devices is only a part: the text of an import was cut, filtered or damaged."""

from __future__ import annotations

from dataclasses import replace

from ..model.finding import DEVICES_INCOMPLETE, Finding, Remedy

__all__ = ["only_of_a_part", "shown_by_a_part"]

_WHOLE = Remedy.typed("give it again, whole: all that `sudo lspci -nnvvv` prints on the box, from the first line to "
                      "the last")


def shown_by_a_part(finding: Finding, doubt: str) -> Finding:
    """``finding`` as unknown: it is what the part shows. ``doubt``: why it may be a part."""
    return replace(finding, outcome="unknown", text=f"{doubt}; of what it shows: {finding.text}",
                   code=DEVICES_INCOMPLETE, remedy=_WHOLE)


def only_of_a_part(finding: Finding) -> bool:
    """Whether it says no more than that."""
    return finding.outcome == "unknown" and finding.code == DEVICES_INCOMPLETE
