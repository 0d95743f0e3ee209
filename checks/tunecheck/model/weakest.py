"""The weakest figure of each sort that a measurement has: what is kept of it, and compared over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .measurement import Measured, Measurement

__all__ = ["weakest"]

_OF_64_KB, _OF_64_MB = 65536, 64 << 20


def weakest(found: Measured) -> dict[str, float]:
    """Return the weakest figure of each sort, by a name that says its unit. What was not measured is not there."""
    ranks = max((each.ranks or 0 for each in found.find("allreduce")), default=0)
    largest = [each for each in found.find("allreduce") if each.ranks == ranks]
    least: Mapping[str, Sequence[Measurement]] = {
        "p2p_one_way_gb_s": found.find("one way", "engine write"),
        "p2p_both_ways_gb_s": found.find("both ways", "engine write"),
        "allreduce_bus_64_mb_gb_s": [each for each in largest if (each.what, each.size) == ("bus", _OF_64_MB)],
        "host_to_device_gb_s": found.find("host copy", "host to device"),
        "device_to_host_gb_s": found.find("host copy", "device to host"),
        "own_memory_gb_s": found.find("own memory", "copy"),
    }
    most: Mapping[str, Sequence[Measurement]] = {
        "p2p_latency_ns": found.find("latency", "pointer chase"),
        "allreduce_own_64_kb_us": [each for each in largest if (each.what, each.size) == ("own", _OF_64_KB)],
        "allreduce_nccl_64_kb_us": [each for each in largest if (each.what, each.size) == ("nccl", _OF_64_KB)],
    }
    worst = {name: min(each.value for each in some) for name, some in least.items() if some}
    worst |= {name: max(each.value for each in some) for name, some in most.items() if some}
    return {name: float(f"{value:.4g}") for name, value in worst.items()}
