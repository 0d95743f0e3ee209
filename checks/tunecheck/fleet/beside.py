"""One thing is done while the next one is prepared: an answer goes into the history while the next one is judged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["Beside"]

_Item = TypeVar("_Item")


class Beside(Generic[_Item]):
    """Does ``work`` with one item after the other, in the order given, in a thread of its own. It begins at once, so
    that an item does not wait for the next one, and at most one item is under way. What ``work`` raises is raised by
    the next call. The end of a ``with`` waits for the last item, also after Ctrl-C."""

    def __init__(self, work: Callable[[_Item], None]) -> None:
        self._work = work
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def do(self, item: _Item) -> None:
        """Returns when the item before is done."""
        self._settle()
        self._last = self._thread.submit(self._work, item)

    def __enter__(self) -> Beside[_Item]:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._settle()
        finally:
            self._thread.shutdown()

    def _settle(self) -> None:
        if self._last is not None:
            self._last.result()
            self._last = None
