"""device-nodes: /dev has the nodes that CUDA opens, for every GPU and for every user."""

from __future__ import annotations

from ..check import EVERY, Check, Family, Heading
from .posted_nodes import judge

CHECK = Check(
    "device-nodes", "/dev has the nodes that CUDA opens", Heading.ACCELERATORS, 70, Family.DRIVER, EVERY,
    of_posts=True,
)
__all__ = ["judge"]
