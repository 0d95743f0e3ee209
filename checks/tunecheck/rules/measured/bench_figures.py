"""bench-figures: what p2pBandwidthLatencyTest, nvbandwidth and nccl-tests measured is what the path can carry."""

from __future__ import annotations

from ..check import EVERY, Check, Family, Heading
from .posted_figures import judge

CHECK = Check(
    "bench-figures", "figures of known benchmarks are what the path can carry",
    Heading.ACCELERATORS, 100, Family.MEASURED, EVERY, of_posts=True,
)
__all__ = ["judge"]
