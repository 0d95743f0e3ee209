"""cuda-toolkit: nvcc can compile for the GPUs that are there."""

from __future__ import annotations

from .posted_toolkit import judge

__all__ = ["judge"]
