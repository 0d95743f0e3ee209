"""engine-decisions: vLLM's or SGLang's log says that it uses peer access, and why where it does not."""

from __future__ import annotations

from .posted_engines import judge

__all__ = ["judge"]
