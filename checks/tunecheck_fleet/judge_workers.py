"""Answers are judged side by side, one on each core."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from .apart import Judge
from .model import Answer, Seen

__all__ = ["Judges", "cores"]

#: To hand out an answer and to keep what comes back costs this process about a tenth of what judging it does: more
#: judges than this would wait for it.
_MOST = 8


def cores() -> int:
    """How many judges this machine has work for."""
    return min(_MOST, len(os.sched_getaffinity(0)))


class Judges:
    """``count`` judges, each with a child of its own. The children are there from the beginning, and share what they
    need with this process: forked later, they could inherit a lock of a thread that is at work."""

    def __init__(self, make: Callable[[], Judge], count: int) -> None:
        self.count = count
        if count > 1:
            from . import read  # noqa: F401  loaded once, not in every child
        self._all = [make() for _ in range(count)]
        self._idle: SimpleQueue[Judge] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)
        for judge in self._all:
            if count > 1:
                judge.start()
            self._idle.put(judge)

    def begin(self, answer: Answer, before: Callable[[Answer], Answer] | None = None) -> Future[Seen]:
        """As Judge.seen(), of what ``before`` makes of the answer. ``before`` runs in a thread."""
        return self._threads.submit(self._one, answer, before)

    def seen(self, answer: Answer) -> Seen:
        """As Judge.seen(), in this thread, as soon as a judge is idle."""
        judge = self._idle.get()
        try:
            return judge.seen(answer)
        finally:
            self._idle.put(judge)

    def close(self) -> None:
        """Whatever was not begun yet is given up, and the children end."""
        self._threads.shutdown(cancel_futures=True)
        for judge in self._all:
            judge.close()

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _one(self, answer: Answer, before: Callable[[Answer], Answer] | None) -> Seen:
        return self.seen(before(answer) if before is not None else answer)
