"""nccl-transport: NCCL's log says that the GPUs of one machine reach each other directly, not through host memory."""

from __future__ import annotations

from .posted_nccl import judge

__all__ = ["judge"]
