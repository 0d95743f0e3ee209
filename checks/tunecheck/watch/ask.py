"""A stall is handed to tunecheck-recover.service, once: the watch itself changes nothing of what it watches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ..errors import ProbeError
from ..host import Host
from . import request
from .model import Seen, State
from .timeline import Timeline

__all__ = ["RECOVER", "Asker"]

RECOVER = "tunecheck-recover.service"
#: In seconds: how soon a request that systemd did not take is made again.
_AGAIN = 30.0
_COMMAND = 5.0
#: So long a stall waits for the first answers of NCCL's RAS and of NVML. With the usual limits they are there before.
_FOR_WITNESSES = 8.0


class Asker:
    """``complain`` takes a sentence where asking failed."""

    def __init__(self, host: Host, unit: str, url: str, boot_id: str, complain: Callable[[str], None],
                 path: str = request.PATH) -> None:
        self._host, self._unit, self._url, self._boot_id = host, unit, url, boot_id
        self._complain, self._path = complain, path
        self._asked = False
        self._tried: float | None = None
        self._id = ""

    def look(self, seen: Seen, document: dict[str, Any], timeline: Timeline) -> None:
        """Call it for every look. A stall that ends by itself is over; another one is another incident."""
        if seen.state is not State.STALLED:
            self._asked, self._tried, self._id = False, None, ""
            return
        now = time.monotonic()
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
                                          timeline.rows(), seen.ras.text if seen.ras else "", seen.invocation),
                          self._path)
            done = self._host.run(("systemctl", "start", "--no-block", RECOVER), _COMMAND)
        except (OSError, ProbeError) as error:
            self._complain(f"the stall could not be handed to {RECOVER}: {error}")
            return
        self._asked = done.returncode == 0
        if not self._asked:
            self._complain(f"{RECOVER} was not started: {done.stderr.strip()[-200:]}")
