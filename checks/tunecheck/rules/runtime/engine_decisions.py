"""engine-decisions: vLLM's or SGLang's log says that it uses peer access, and why where it does not."""

from __future__ import annotations

from ..check import EVERY, Check, Family, Heading
from .posted_engines import judge

CHECK = Check(
    "engine-decisions", "vLLM or SGLang uses peer access, or says why not",
    Heading.ACCELERATORS, 110, Family.RUNTIME, EVERY, of_posts=True,
)
__all__ = ["judge"]
