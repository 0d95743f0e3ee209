"""Look, judge, tell, once an interval, until somebody ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from .judge import Judge
from .model import Limits, Seen
from .sources import Sources

__all__ = ["Clock", "watch"]

#: In seconds: who waits for the next look is alive, however long the interval is.
_SLICE = 0.5
#: Between any two looks: who answers while he waits (door.py) does so also where every look takes its whole deadline.
_GLANCE = 0.02


class Clock:
    """Time, in one place so that a test can make it pass."""

    def now(self) -> float:
        """Monotonic, in seconds."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleep so long."""
        time.sleep(seconds)


def watch(sources: Sources, limits: Limits, alive: Callable[[], None] = lambda: None,
          clock: Clock | None = None) -> Iterator[Seen]:
    """The verdict of every look. ``alive`` is called after each, for systemd's watchdog: a look that hangs is then
    ended by systemd. A look that took longer than the interval is followed by the next one nearly
    at once."""
    clock, judge = clock or Clock(), Judge(limits)
    due = clock.now()
    while True:
        yield judge.judge(sources.look(judge.near, judge.curious, judge.due))
        alive()
        due = max(due + limits.interval, clock.now() + _GLANCE)
        while (left := due - clock.now()) > 0:
            clock.wait(min(left, _SLICE))
            alive()
