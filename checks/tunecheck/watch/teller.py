"""What a watch says while it runs: a line for each change, the unit's status line, a textfile of metrics."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable

import click

from ..errors import UsageError
from ..host.notify import tell as status
from ..util.whole_file import emit, write_file
from .model import Seen
from .tell import Watched, document, line, metrics

__all__ = ["Teller"]

#: In seconds: a textfile that nobody renews looks like a watch that died.
_METRICS_EVERY = 15.0


class Teller:
    """What is told of each look. A disk that is full or a file that cannot be written does not end the watch: that is
    one of the things it is there for."""

    def __init__(self, as_json: bool, prometheus_to: str | None, watched: Watched) -> None:
        self._as_json, self._prometheus_to, self._watched = as_json, prometheus_to, watched
        self._shown: Seen | None = None
        self._written: float | None = None
        self._failed: set[str] = set()

    def tell(self, seen: Seen) -> None:
        """A line where something changed, the metrics where they grow old."""
        now, at = time.monotonic(), time.time()
        if _changed(self._shown, seen):
            self._shown, self._written = seen, None
            text = json.dumps(document(seen, at, now - seen.since, self._watched)) if self._as_json else line(seen, at)
            self._try("standard output", lambda: emit(f"{text}\n"))
            status(line(seen, at))
        target = self._prometheus_to
        if target is not None and (self._written is None or now - self._written >= _METRICS_EVERY):
            self._try(target, lambda: write_file(target, metrics(seen, at).encode(), 0o644, "metrics"))
            self._written = now

    def complain(self, text: str) -> None:
        """On standard error, where somebody reads it."""
        with contextlib.suppress(OSError):
            click.echo(f"tunecheck watch: {text}", err=True)

    def _try(self, what: str, write: Callable[[], object]) -> None:
        try:
            write()
            self._failed.discard(what)
        except (UsageError, OSError) as error:
            if what not in self._failed:
                self._failed.add(what)
                self.complain(str(error))


def _changed(before: Seen | None, now: Seen) -> bool:
    """Another state or other codes; numbers alone move with every look."""
    def what_changes(seen: Seen) -> object:
        blamed = seen.culprit and (seen.culprit.pid, seen.culprit.gpu, seen.culprit.rank, seen.culprit.letter)
        return seen.state, blamed, {(each.code, each.subject) for each in seen.reasons}

    return before is None or what_changes(before) != what_changes(now)
