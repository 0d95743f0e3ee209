"""What an audit may be told, and what it says at its end."""

from __future__ import annotations

import os
from typing import Literal

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.at_first_use import dataclass

__all__ = ["KEPT", "TOOLS", "Collected", "Options"]

#: Where roles/preflight puts the command, and the environment behind it.
TOOLS = ("/usr/local/sbin/tunecheck", "/opt/tunecheck/bin/tunecheck")
#: What the box's own timer leaves, replaced as a whole.
KEPT = "/var/lib/tunecheck/snapshot.json"
#: Boxes asked at a time: one for each processor of the control node and one more, while they answer at once; beside
#: those that only wait (callbacks/tunecheck_answers.py) three more for each processor, but no more in all than this.
#: Each costs 11 MiB while it is asked: 10 of an Ansible worker, the rest of its ssh.
_SPARE, _MORE_PER_PROCESSOR, _MOST = 1, 3, 50


@dataclass(frozen=True)
class Options:
    """``deadline``: seconds for one box, from connecting to its last byte; ``connect``: of those, until ssh is through.
    ``overall``: seconds for all of them, None: enough for every box to miss its deadline.

    ``source``: "live" asks now; "timer" takes what the box's own timer left, where it is younger than ``max_age``
    seconds, and else asks; "auto" asks, and takes what the timer left where asking failed.
    ``only``: of the inventory's hosts these alone (what is left of an audit that was cut off). ``ssh_kex``:
    "curve25519" asks for that key exchange first (see kex.py). ``ship``: send the collector to a box without one.
    ``max_kib``: what one box may send, compressed. ``tools`` and ``kept``: where the box has the command and its
    timer's snapshot. ``doing``: what a terminal shows meanwhile, "" for an audit's counts."""

    forks: int | None = None
    deadline: float = 90.0
    connect: float = 15.0
    overall: float | None = None
    source: Literal["auto", "live", "timer"] = "auto"
    max_age: float = 3600.0
    only: frozenset[str] | None = None
    ssh_kex: Literal["curve25519"] | None = None
    ship: bool = True
    tools: tuple[str, ...] = TOOLS
    kept: str = KEPT
    max_kib: int = 2048
    doing: str = ""

    def __post_init__(self) -> None:
        if self.forks is not None and self.forks < 1:
            raise UsageError(f"{self.forks} forks: expected at least 1", Misuse.MALFORMED)
        if self.deadline < 1 or self.connect < 1 or self.max_age < 60:
            raise UsageError("a deadline is at least 1 s, and the age of a timer's snapshot at least 60 s",
                             Misuse.MALFORMED)
        bad = [path for path in (*self.tools, self.kept) if not path.startswith("/") or set(path) & set(" \t\n\"'\\$`")]
        if bad:
            raise UsageError(f"{bad[0]!r}: expected an absolute path without blanks and quotes", Misuse.MALFORMED)

    def turns(self, hosts: int) -> tuple[int, int]:
        """How many boxes are asked at a time: at least, and at most where they only wait."""
        if self.forks:
            return min(hosts, self.forks), min(hosts, self.forks)
        here = len(os.sched_getaffinity(0))
        fewest = min(_MOST, here + _SPARE)
        return min(hosts, fewest), min(hosts, _MOST, fewest + _MORE_PER_PROCESSOR * here)

    def until(self, hosts: int) -> float:
        """Seconds after which stragglers are given up."""
        fewest, most = self.turns(hosts)
        rounds = -(-hosts // most)
        return self.overall if self.overall is not None else 60 + 0.5 * hosts / fewest + rounds * (self.deadline + 10)


@dataclass(frozen=True)
class Collected:
    """``asked``: every (host, group) of the inventory under its limit. ``interrupted``: by Ctrl-C; hosts that had not
    answered by then were not given to the sink."""

    asked: tuple[tuple[str, str], ...]
    interrupted: bool
    seconds: float
