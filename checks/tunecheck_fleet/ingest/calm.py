"""Lines of the log at a bounded rate: who fills the disk with them has stopped the audits as well."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

__all__ = ["Calm"]


class Calm(logging.Filter):
    """So many lines at once and so many in a second, of known hosts and of everything else apart; then one line says
    how many were left out. ``known`` in a record's extra: it is about a host that has shown who it is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        #: lines at once, in a second
        self._rates = {True: (2000.0, 50.0), False: (50.0, 0.5)}
        self._left = {each: (rate[0], clock()) for each, rate in self._rates.items()}
        self._out = {True: 0, False: 0}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = bool(getattr(record, "known", False))
        most, rate = self._rates[kind]
        now = self._clock()
        left, at = self._left[kind]
        left = min(most, left + (now - at) * rate)
        if left < 1.0:
            self._left[kind] = left, now
            self._out[kind] += 1
            return False
        self._left[kind] = left - 1.0, now
        if self._out[kind]:
            record.msg = f"{record.getMessage()[:500]} ({self._out[kind]} lines before it were left out)"
            record.args = ()
            self._out[kind] = 0
        if record.exc_info and not kind:
            # One line for whatever a stranger provokes, and never a traceback of thousands.
            error = record.exc_info[1]
            record.msg = f"{record.getMessage()[:500]}: {type(error).__name__}"
            record.args, record.exc_info, record.exc_text = (), None, None
        return True
