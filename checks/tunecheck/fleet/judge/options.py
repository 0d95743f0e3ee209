"""What can be chosen of a judgement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import UsageError
from ...facts.registry.entry import Entry
from ..witness_model import Claim

__all__ = ["BASELINES", "JudgeOptions"]

BASELINES = "previous, audit:N, host:NAME, desired or majority"


@dataclass(frozen=True)
class JudgeOptions:
    """``baseline``: against what (``previous`` keeps all three judgements). ``since``: an audit's number (int) or a
    time in seconds since 1970 (float) to compare with instead of the previous audit. ``share`` and ``at_least``: when
    a majority has a say. ``rollout``: which part of a group has to move to one value in one audit to be one line.
    ``now``: None is the clock.
    ``claims``: what the roles' dry run said (fleet/witness.py). ``entries``: None is the registry."""

    baseline: str = "previous"
    since: int | float | None = None
    share: float = 0.8
    at_least: int = 5
    rollout: float = 0.1
    now: float | None = None
    claims: tuple[Claim, ...] = ()
    entries: Mapping[str, Entry] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"previous|desired|majority|audit:[0-9]{1,9}|host:.+", self.baseline, re.S):
            raise UsageError(f"baseline {self.baseline[:80]!r} is not one of {BASELINES}")

    @property
    def host(self) -> str | None:
        """The host to compare with."""
        return self.baseline[5:] if self.baseline.startswith("host:") else None

    @property
    def number(self) -> int | None:
        """The audit to compare with, where one was named."""
        if self.baseline.startswith("audit:"):
            return int(self.baseline[6:])
        return self.since if isinstance(self.since, int) else None

    def judges(self, authority: str) -> bool:
        """Whether causes of this authority are asked for."""
        # What the specification asks for is wrong whatever the values are compared with.
        if authority in ("desired", "role", "identity"):
            return True
        return authority in {"desired": (), "majority": ("majority",), "host": ("reference",)}.get(
            self.baseline.partition(":")[0], ("previous", "majority"))
