"""What one host may cost the receiver, and the answer where a push is not taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

__all__ = ["Limits", "Pace", "Refusal", "Why"]


class Why(Enum):
    """What the receiver answers, as ``code`` in its JSON. docs/fleet-push.md lists them."""

    KEPT = "kept"
    KEPT_BEFORE = "kept-before"
    REPLAYED = "replayed"
    TOO_OLD = "too-old"
    NO_TOKEN = "no-token"
    NO_SUCH_HOST = "no-such-host"
    TWO_HOSTS = "two-hosts"
    TOO_OFTEN = "too-often"
    TOO_MANY = "too-many"
    TOO_SLOW = "too-slow"
    CUT_SHORT = "cut-short"
    TOO_LARGE = "too-large"
    ENCODING = "encoding"
    NOT_PACKED = "not-packed"
    NO_SNAPSHOT = "no-snapshot"
    NO_TIME = "no-time"
    TOO_COSTLY = "too-costly"
    BUSY = "busy"
    NO_HOSTS = "no-hosts"
    NO_DISK = "no-disk"
    ENDING = "ending"
    FAILED = "failed"
    NO_PAGE = "no-page"
    METHOD = "method"
    REQUEST = "request"


@dataclass(frozen=True)
class Limits:
    """A snapshot of a box with eight GPUs is below 200 KiB unpacked and 20 KiB packed.

    ``packed``, ``unpacked``: bytes of a body before and after decompression. ``seconds``: for a whole body to arrive.
    ``handshake``, ``head``: seconds for TLS, and for each request's head; ``life``: until any connection is ended.
    ``burst``, ``every``: so many pushes of a host at once, then one in so many seconds. ``together``: requests of one
    host at the same time. ``queue``: bodies that wait to be checked, of all hosts. ``off``: seconds; a snapshot that is
    older says nothing about now. ``penalty``: seconds in which a host whose body was too much to check is not heard.

    ``connections``: in all; ``connections_of_a_host``: of one that has shown who it is; ``strangers``: of those that
    have not, in all, and ``strangers_of_an_address``; ``arrivals``: of one address at once, and
    ``arrivals_each_second``; ``newcomers`` and ``newcomers_each_second``: of all addresses from which no host has shown
    itself within ``friend`` seconds; ``backlog``: that the kernel keeps.
    """

    packed: int = 4 << 20
    unpacked: int = 8 << 20
    seconds: float = 30.0
    handshake: float = 5.0
    head: float = 10.0
    life: float = 120.0
    burst: int = 60
    every: float = 10.0
    together: int = 2
    queue: int = 256
    off: float = 86_400.0
    penalty: float = 600.0
    connections: int = 4096
    connections_of_a_host: int = 8
    strangers: int = 384
    strangers_of_an_address: int = 128
    arrivals: int = 256
    arrivals_each_second: float = 20.0
    newcomers: int = 200
    newcomers_each_second: float = 50.0
    friend: float = 86_400.0
    backlog: int = 1024


class Pace:
    """A token bucket per name: of hosts that are known, which are few, or of addresses (``forget``)."""

    def __init__(self, burst: int, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._every, self._clock = float(burst), every, clock
        self._left: dict[str, tuple[float, float]] = {}

    def forget(self, most: int) -> None:
        """Where more than ``most`` names are remembered: those that have all their turns again, or else all."""
        if len(self._left) > most:
            now = self._clock()
            self._left = {name: (left, at) for name, (left, at) in self._left.items()
                          if left + (now - at) / self._every < self._burst}
            if len(self._left) > most // 2:
                self._left = {}

    def bar(self, host: str, seconds: float) -> None:
        """Let it wait so long."""
        self._left[host] = 1.0 - seconds / self._every, self._clock()

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


class Refusal(Exception):  # noqa: N818 - an answer to somebody else, not an error of ours
    """Why a push is not taken: a status, a code and a sentence, nothing of the server's insides.

    ``status`` as in HTTP; ``after``: the seconds of Retry-After, where trying again helps; ``costly``: to look at it
    took more than any snapshot may; ``damage``: what is wrong with the snapshot, a code of ``Damage``."""

    def __init__(self, status: int, why: Why, sentence: str, after: float | None = None, costly: bool = False,
                 damage: str = "") -> None:
        self.status, self.why, self.sentence, self.after, self.costly = status, why, sentence, after, costly
        self.damage = damage
        super().__init__(sentence)
