"""What a role's dry run says about one failing check of one host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Claim"]


@dataclass(frozen=True)
class Claim:
    """``verdict``: "same", the roles would change nothing; "change", they would; "failed", "timeout" and "silent"
    (every task was skipped, as commands are in check mode) say nothing. ``tasks``: those that said so, "role : task".
    """

    host: str
    check: str
    verdict: Literal["same", "change", "failed", "timeout", "silent"]
    tasks: tuple[str, ...] = ()
    reason: str = ""
