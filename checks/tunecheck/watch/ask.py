"""A stall is handed to tunecheck-recover.service, once: the watch itself changes nothing of what it watches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ..errors import ProbeError
from ..host import Host
from . import request
from .model import STALLS, Seen, State
from .timeline import Timeline

__all__ = ["RECOVER", "Asker"]

RECOVER = "tunecheck-recover.service"
#: In seconds: how soon a request that systemd did not take is made again.
_AGAIN = 30.0
_COMMAND = 5.0
#: So long a stall waits for the first answers of NCCL's RAS and of NVML. With the usual limits they are there before.
_FOR_WITNESSES = 8.0
#: A GPU that comes and goes calls a person once an hour.
_LOST_EVERY = 3600.0
_STALL, _LOST = "stall", "lost"


class Asker:
    """``complain`` takes a sentence where asking failed."""

    def __init__(self, host: Host, unit: str, url: str, boot_id: str, complain: Callable[[str], None],
                 path: str = request.PATH, ca: str = "") -> None:
        self._host, self._unit, self._url, self._boot_id = host, unit, url, boot_id
        self._complain, self._path, self._ca = complain, path, ca
        self._lost_at: float | None = None
        self._forget("")

    def _forget(self, what: str) -> None:
        self._what, self._asked, self._id = what, False, ""
        self._tried: float | None = None

    def look(self, seen: Seen, document: dict[str, Any], timeline: Timeline) -> None:
        """Call it for every look. A stall that ends by itself is over; another one is another incident. So is a GPU
        that is lost, and the stall that may follow it."""
        now, what = time.monotonic(), _what(seen)
        if not what or (what == _STALL and self._what == _LOST):
            self._forget(what)
        self._what = self._what or what
        rested = self._lost_at is None or now - self._lost_at >= _LOST_EVERY
        if not what or (what == _LOST and self._what == _LOST and not self._asked and not rested):
            return
        if self._asked or (self._tried is not None and now - self._tried < _AGAIN):
            return
        if seen.asking and now - seen.since < _FOR_WITNESSES:
            return
        self._tried = now
        self._id = self._id or f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
        parts = seen.engine.parts
        # A replica that nobody asks does not move either.
        moved = {part.name: part.moved for part in [each for each in parts if each.asked] or parts}
        try:
            request.leave(request.Request(self._id, self._boot_id, self._unit, self._url, moved, document,
                                          timeline.rows(), seen.ras.text if seen.ras else "", seen.invocation,
                                          self._ca), self._path)
            done = self._host.run(("systemctl", "start", "--no-block", RECOVER), _COMMAND)
        except (OSError, ProbeError) as error:
            self._complain(f"the stall could not be handed to {RECOVER}: {error}")
            return
        self._asked = done.returncode == 0
        if self._asked and what == _LOST:
            self._lost_at = now
        if not self._asked:
            self._complain(f"{RECOVER} was not started: {done.stderr.strip()[-200:]}")


def _what(seen: Seen) -> str:
    """What is to be handed on: a stall, a GPU that is lost beside an engine that may serve, or nothing."""
    if seen.state is State.STALLED or (seen.state is State.LOST and any(each.code in STALLS for each in seen.reasons)):
        return _STALL
    return _LOST if seen.state is State.LOST else ""
