"""PCIe error counters before a trial and at its stall, and how much they grew in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..facts.nvidia.nvml import Nvml
from ..facts.snapshot import Snapshot
from ..host import Host, Unreadable
from ..parsers.pci.aer_counters import FILES, parse_counters
from ..parsers.pci.bdf import bdf_key

__all__ = ["Counts", "before", "moved", "now"]

#: (address, severity, name) -> count.
Counts = Mapping[tuple[str, str, str], int]
_DEVICES = "/sys/bus/pci/devices"
_REPLAYED = ("replayed, NVML", "packets")


def before(snapshot: Snapshot) -> dict[tuple[str, str, str], int]:
    """Return the counters that were read before the trial: AER counters of every hop, and the replays of every GPU that
    NVML reports."""
    found = {(bdf, severity, name): count for bdf, counters in (snapshot.host.errors if snapshot.host else {}).items()
             for severity, fact in counters.by_severity.items() for name, count in (fact.value or {}).items()}
    return {**found, **_replays(snapshot.nvml.value)}


def now(host: Host, bdfs: Iterable[str], nvml: Nvml | None) -> dict[tuple[str, str, str], int]:
    """Return the counters as they are now, where they can be read; ``nvml``: what NVML says now."""
    found = _replays(nvml)
    for bdf in bdfs:
        for severity, name in FILES.items():
            try:
                counts = parse_counters(host.read_bytes(f"{_DEVICES}/{bdf}/{name}").decode("utf-8", "replace"))
            except (Unreadable, ValueError):
                continue
            found.update({(bdf, severity, error): count for error, count in counts.items()})
    return found


def _replays(nvml: Nvml | None) -> dict[tuple[str, str, str], int]:
    counts = {gpu.bdf: gpu.number("replay_counter").value for gpu in (nvml.gpus if nvml else ())}
    return {(bdf, *_REPLAYED): count for bdf, count in counts.items() if count is not None}


def moved(then: Counts, later: Counts) -> tuple[str, ...]:
    """Return ``0000:03:00.0 BadTLP +12 (correctable)`` for each counter that changed, in address order. A counter that
    went back began again (a device that was reset) and counts in full."""
    found = []
    for key in sorted(later.keys() & then.keys(), key=lambda key: (bdf_key(key[0]), *key[1:])):
        grown = later[key] - then[key]
        if grown:
            bdf, severity, name = key
            text = f"+{grown}" if grown > 0 else f"+{later[key]} since it began again"
            found.append(f"{bdf} {name} {text} ({severity})")
    return tuple(found)
