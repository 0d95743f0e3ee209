"""How long a child may need for its answer. Time in which it is at work, or would be if it got a processor, is not
counted: on a busy machine seconds of work take minutes. What it works is limited elsewhere (RLIMIT_CPU)."""

from __future__ import annotations

import os
import time
from contextlib import suppress

__all__ = ["BusyError", "Patience", "WaitedError"]

#: Seconds between two looks at the child.
_TICK = 0.5


class WaitedError(Exception):
    """The child waited for something other than a processor, for longer than it may."""


class BusyError(Exception):
    """The machine gave the child too little of its processors. ``got``: seconds of them."""

    def __init__(self, got: float) -> None:
        super().__init__(got)
        self.got = got


class Patience:
    """``wall``: seconds that the child ``pid`` may wait for something other than a processor; ``most``: seconds until
    its answer, however busy the machine is. A look counts at most one tick: where this process got no processor
    itself, one look says nothing of the time before it."""

    def __init__(self, pid: int, wall: float, most: float) -> None:
        self._stat, self._left, self._tick = f"/proc/{pid}/stat", wall, min(_TICK, wall)
        self._until, self._looked = time.monotonic() + most, time.monotonic()
        self._before = self._read()[1]

    def tick(self) -> float:
        """Return the seconds until the next look is due: 0 where it is due now."""
        return max(0.0, self._looked + self._tick - time.monotonic())

    def look(self) -> None:
        """Count the time since the last look. WaitedError or BusyError where it was too long."""
        now = time.monotonic()
        ready, used = self._read()
        if not ready:
            self._left -= min(self._tick, now - self._looked)
        self._looked = now
        if self._left <= 0:
            raise WaitedError
        if now > self._until:
            raise BusyError(used - self._before)

    def _read(self) -> tuple[bool, float]:
        """Return whether the child runs or waits for a processor, and the seconds that it ran."""
        with suppress(OSError, ValueError, IndexError):
            with open(self._stat, encoding="ascii", errors="replace") as stream:
                words = stream.read().rpartition(") ")[2].split()
            return words[0] == "R", (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return False, 0.0
