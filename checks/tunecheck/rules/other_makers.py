"""What is said of accelerators that other makers built."""

from __future__ import annotations

from ..facts.pci.topology import Topology
from ..util.text import some

__all__ = ["ONLY_NVIDIA", "others_text"]

ONLY_NVIDIA = "tunecheck judges NVIDIA GPUs only"
#: So many addresses are named.
_NAMED = 8


def others_text(topology: Topology, known_boards: bool = False) -> str:
    """Return which accelerators of other makers are there: ``8 accelerators of other makers: AMD Instinct MI300X
    (0000:05:00.0, ...)``; "" where there is none. ``known_boards``: only those whose model is known, so that the
    graphics of a processor do not count."""
    boards: dict[str, list[str]] = {}
    others = [each for each in topology.others if each.model or not known_boards]
    for each in others:
        boards.setdefault(each.name or "of a maker that tunecheck does not know", []).append(each.bdf)
    if not boards:
        return ""
    named = "; ".join(f"{name} ({some(found, _NAMED)})" for name, found in boards.items())
    count = len(others)
    return f"{count} accelerator{'s' * (count > 1)} of {'other makers' if count > 1 else 'another maker'}: {named}"
