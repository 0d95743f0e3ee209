"""How many GPUs a box has, for its drafted inventory, where the PCI tree does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot

__all__ = ["COUNT", "counted", "no_gpu"]

#: What to write first, why behind it: so begins each reason of ``Draft.change`` about the number.
COUNT = "how many cards must be there"


def _counts(snapshot: Snapshot) -> list[tuple[int, str, bool]]:
    """Return how many GPUs each text or NVML counts, where the PCI tree does not: the number, the source, and whether
    it is whole. What is cut counts nothing; a list has no end by which one sees that it is whole."""
    posted, nvml = snapshot.posted, snapshot.nvml.value
    table = posted.table.value
    found = [(len(table.labels), table.source, True)] if table is not None and not table.cut else []
    if nvml is not None and nvml.error("gpus") is None and not any(who.startswith("gpu ") for who in nvml.errors):
        found.append((len(nvml.gpus), "nvidia-smi", True))
    found += [(len({a for a, _ in pairs}), "nvidia-smi topo -p2p", True) for pairs in posted.letters.values() if pairs]
    found.append((len(posted.names), "nvidia-smi -L", False))
    found += [(count, source, False) for source, count in posted.least.items()]
    return [each for each in found if each[0]]


def no_gpu(snapshot: Snapshot) -> bool:
    """Return whether the whole PCI tree was read and has no GPU, and nothing else counts one."""
    topology = snapshot.topology
    return topology.accelerators.value == () and not (topology.doubt or topology.unidentified or _counts(snapshot))


def counted(snapshot: Snapshot) -> tuple[int, str, str]:
    """Return how many GPUs the texts count, the source, and why that is a guess, "" where it is none. 0: no text counts
    them."""
    counts = _counts(snapshot)
    if not counts:
        return 0, "", ""
    count, source, whole = counts[0]
    others = [f"{other} {number}" for number, other, _ in counts if number != count]
    if others:
        return count, source, f"{COUNT}; {source} names {count}, {others[0]}"
    return count, source, "" if whole else f"{COUNT}; {source} lists {count}, and nothing shows that this is all"
