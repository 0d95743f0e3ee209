"""nccl-transport: NCCL's log says that the GPUs of one machine reach each other directly, not through host memory."""

from __future__ import annotations

from ..check import EVERY, Check, Family, Heading
from .posted_nccl import judge

CHECK = Check(
    "nccl-transport", "by NCCL's log, GPUs of one machine meet directly",
    Heading.ACCELERATORS, 90, Family.RUNTIME, EVERY, of_posts=True,
)
__all__ = ["judge"]
