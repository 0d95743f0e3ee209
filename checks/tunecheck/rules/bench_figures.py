"""bench-figures: what p2pBandwidthLatencyTest, nvbandwidth and nccl-tests measured is what the path can carry."""

from __future__ import annotations

from .posted_figures import judge

__all__ = ["judge"]
