"""What can be chosen of a judgement."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tunecheck.errors import Misuse, UsageError
from tunecheck.facts.registry.definition import Entry
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.suggestions import did_you_mean, nearest

from ..model import Claim

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["BASELINES", "SPLIT", "JudgeOptions"]

#: From this share on a group that has no majority is split; below it there is nothing to say.
SPLIT = 0.5
BASELINES = "previous, audit:N, host:NAME, desired or majority"


@dataclass(frozen=True)
class JudgeOptions:
    """``baseline``: against what (``previous`` keeps all three judgements). ``since``: an audit's number (int) or a
    time in seconds since 1970 (float) to compare with instead of the previous audit. ``share`` and ``at_least``: when
    a majority has a say. ``rollout``: which part of a group has to move to one value in one audit to be one line.
    ``now``: None is the clock.
    ``union``: also the hosts that other audits of this inventory (another --limit, or none) heard last, as they were
    then.
    ``claims``: what the roles' dry run said (tunecheck_fleet/check_diff.py). ``entries``: None is the registry."""

    baseline: str = "previous"
    since: int | float | None = None
    share: float = 0.8
    at_least: int = 5
    rollout: float = 0.1
    now: float | None = None
    claims: tuple[Claim, ...] = ()
    entries: Mapping[str, Entry] | None = None
    union: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"previous|desired|majority|audit:[0-9]{1,9}|host:.+", self.baseline, re.S):
            raise UsageError(f"baseline {self.baseline[:80]!r} is not one of {BASELINES}", Misuse.MALFORMED)

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

    def check(self, store: Store, hosts: Collection[str], taken_up: int | None = None) -> None:
        """UsageError where the baseline is not there; to be found out before an audit of ``hosts`` is recorded, or what
        changed until then would be told in no report. ``taken_up``: an audit that was cut off and goes on."""
        if self.host is not None and self.host not in hosts:
            near = nearest(self.host, hosts, 3)
            meant = f"; {did_you_mean(near, ', ')}" if near else ""
            raise UsageError(f"--baseline {self.baseline[:80]}: that host is not one of the {len(hosts)} that are asked"
                             f"{meant}; nothing was asked or recorded", Misuse.NO_SUCH)
        if self.number is None:
            return
        numbers = [head.id for head in store.audits() if taken_up is None or head.id < taken_up]
        if self.number not in numbers:
            there = f"expected #{numbers[0]} to #{numbers[-1]}" if numbers else "it has none to compare with"
            there += f", before #{taken_up} that is taken up" if taken_up is not None else ""
            raise UsageError(f"--baseline {self.baseline}: this history has no such audit; {there}; nothing was "
                             "asked or recorded", Misuse.NO_SUCH)
