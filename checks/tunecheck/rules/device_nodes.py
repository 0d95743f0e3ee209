"""device-nodes: /dev has the nodes that CUDA opens, for every GPU and for every user."""

from __future__ import annotations

from .posted_nodes import judge

__all__ = ["judge"]
