"""cuda-toolkit: nvcc can compile for the GPUs that are there."""

from __future__ import annotations

from ..check import EVERY, Check, Family, Heading
from .posted_toolkit import judge

CHECK = Check(
    "cuda-toolkit", "nvcc can compile for the GPUs that are there",
    Heading.ACCELERATORS, 80, Family.DRIVER, EVERY, of_posts=True,
)
__all__ = ["judge"]
