"""One thing is done while the next ones are prepared: an answer goes into the history while others are judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["Beside"]

_Item = TypeVar("_Item")


class Beside(Generic[_Item]):
    """Does ``work`` with one item after the other, in the order given, in a thread of its own. It begins at once, so
    that an item does not wait for the next one; ``ahead`` more may wait behind the one that is under way. What ``work``
    raises is raised by one of the next calls, and nothing that was given later is done. The end of a ``with`` waits for
    the last item, also after Ctrl-C."""

    def __init__(self, work: Callable[[_Item], None], ahead: int = 0) -> None:
        self._work, self._ahead = work, ahead
        self._thread = ThreadPoolExecutor(1)
        self._given: deque[Future[None]] = deque()
        self._failed = False

    def do(self, item: _Item) -> None:
        """Returns when only ``ahead`` items are left that were given before."""
        self._settle(self._ahead)
        self._given.append(self._thread.submit(self._one, item))

    def __enter__(self) -> Beside[_Item]:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._settle(0)
        finally:
            self._thread.shutdown()

    def _one(self, item: _Item) -> None:
        if self._failed:
            return
        try:
            self._work(item)
        except BaseException:
            self._failed = True
            raise

    def _settle(self, left: int) -> None:
        while len(self._given) > left:
            first = self._given[0]
            try:
                first.result()
            finally:
                if first.done():        # not where Ctrl-C cut the waiting short
                    self._given.popleft()
