"""Turns what waits in the inbox into audits of the store, one window after the other, in one thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tunecheck.errors import TunecheckError

from ..apart import Judge
from .inbox import Inbox
from .tokens import Tokens

if TYPE_CHECKING:
    from tunecheck.spec.frozen import Frozen

    from ..model import Answer, AuditHead
    from ..store import Store

__all__ = ["SCOPE", "Writer"]

LOG = logging.getLogger("tunecheck.ingest")
SCOPE = "push"
#: After an error, such as another audit that is running in this store.
_AGAIN = 30.0
#: Seconds that the end of this process waits for the store.
_END = 2.0


class Writer:
    """``window``: seconds that an audit waits for the rest after its first snapshot. ``url``: as for open_store.
    ``inventory``: declares the spec of each host. ``then``: what is done with each audit that was written."""

    def __init__(self, inbox: Inbox, tokens: Tokens, url: str | None, window: float, tick: float = 1.0,
                 inventory: str | None = None, then: Callable[[Store, int], None] | None = None) -> None:
        self._inbox, self._tokens, self._url, self._window, self._tick = inbox, tokens, url, window, tick
        self._inventory, self._then = inventory, then
        self._judge: Judge | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Within seconds: an audit that is being written is given up, and written anew after the next start."""
        self._stop.set()
        if self._judge is not None:
            self._judge.abandon()
        self._thread.join(_END)

    def specs(self) -> Mapping[str, Frozen]:
        """host -> what the inventory declares for it, as it is now. TunecheckError where it cannot be used."""
        if self._inventory is None:
            return {}
        from tunecheck.spec.inventory import listing, variables_of

        from ..desired import declared

        return declared(variables_of(listing(self._inventory)))

    def due(self) -> bool:
        """Whether the window closes now: everybody is in, or its time is over."""
        since = self._inbox.since()
        if since is None:
            return False
        return time.time() >= since + self._window or self._tokens.hosts().keys() <= self._inbox.hosts()

    def write(self) -> int | None:
        """Write one audit of all known hosts; its number, None where nobody is known."""
        from ..store import open_store

        known = {host: each.group for host, each in self._tokens.hosts().items()}
        specs = self.specs()
        self._inbox.drop(set(known))
        if not known:
            return None
        with open_store(self._url) as store:
            from ..key import fleet_key

            with Judge(specs, fleet_key(store), pushed=True) as self._judge:
                number = self._fill(store, store.begin(SCOPE, sorted(known.items()), "push"), known, self._judge)
            if number is not None and self._then is not None:
                try:
                    self._then(store, number)
                except TunecheckError as error:     # the audit is in the history all the same
                    LOG.error("audit #%d: %s", number, error)
            return number

    def _fill(self, store: Store, audit: AuditHead, known: Mapping[str, str], judge: Judge) -> int | None:
        last_pushed = self._inbox.last_pushed()
        for host, group in sorted(known.items()):
            waiting = self._inbox.waiting(host)
            found = judge.seen(_answer(host, group, waiting.content if waiting else None, last_pushed))
            if self._stop.is_set():
                LOG.info("audit #%d is given up: this process ends; what waits stays in the inbox", audit.id)
                return None
            # Where a pull that began meanwhile has the host already, this changes nothing, and is over all the same.
            store.put(audit.id, found)
            if waiting:
                self._inbox.put(host, waiting.digest, audit.id)
        store.finish(audit.id)
        LOG.info("audit #%d written: %d of %d hosts had pushed", audit.id, self._inbox.over(audit.id), audit.asked)
        return audit.id

    def _run(self) -> None:
        last_error = ""
        while not self._stop.wait(self._tick):
            try:
                if self.due():
                    self.write()
                last_error = ""
            except Exception as error:
                # Once, not at every try. What waits stays in the inbox.
                line = str(error) if isinstance(error, TunecheckError) else f"{type(error).__name__}: {error}"
                if line != last_error:
                    LOG.error("no audit could be written, trying again every %g s: %s", _AGAIN, line,
                              exc_info=None if isinstance(error, TunecheckError) else error)
                last_error = line
                self._stop.wait(_AGAIN)


def _answer(host: str, group: str, content: bytes | None, last_pushed: Mapping[str, float]) -> Answer:
    from ..model import Answer

    if content is not None:
        return Answer(host, group, "ok", content)
    last = last_pushed.get(host)
    reason = "has never pushed" if last is None else (
        "pushed nothing since " + time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(last)))
    return Answer(host, group, "unreachable", reason=reason)
