"""What one host may cost the receiver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Limits", "Pace"]


@dataclass(frozen=True)
class Limits:
    """A snapshot of a box with eight GPUs is below 200 KiB unpacked and 20 KiB packed.

    ``packed``, ``unpacked``: bytes of a body before and after decompression. ``seconds``: for a whole body to arrive.
    ``head``: seconds until a new connection has sent a request's head; ``life``: until any connection is ended.
    ``burst``, ``every``: so many pushes of a host at once, then one in so many seconds. ``together``: requests of one
    host at the same time. ``queue``: bodies that wait to be checked, of all hosts. ``off``: seconds by which a
    snapshot's time may differ from ours: an older one says nothing about now, and one from the future would keep
    everything after it out.
    """

    packed: int = 4 << 20
    unpacked: int = 8 << 20
    seconds: float = 30.0
    head: float = 10.0
    life: float = 120.0
    burst: int = 60
    every: float = 10.0
    together: int = 2
    queue: int = 256
    off: float = 86_400.0


class Pace:
    """A token bucket per host. Only hosts that are known come here, so it cannot grow without bound."""

    def __init__(self, burst: int, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._every, self._clock = float(burst), every, clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, host: str) -> float:
        """0.0 where the host may push now, which is counted; else the seconds until it may."""
        now = self._clock()
        left, at = self._left.get(host, (self._burst, now))
        left = min(self._burst, left + (now - at) / self._every)
        if left < 1.0:
            self._left[host] = left, now
            return (1.0 - left) * self._every
        self._left[host] = left - 1.0, now
        return 0.0
