"""The shared page in which every worker shows that it lives, and that it gets on.

A worker whose *beat* stands still does not run at all (stopped, dead, stuck in the kernel). One whose beat goes on
while its *progress* stands still waits for somebody. The parent only reads memory: nothing here can block it.

Times are CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from dataclasses import dataclass

__all__ = ["BEAT_SECONDS", "PHASES", "Beat", "Board", "State", "state_of"]

#: How often a worker's thread beats. Measured on 2 x H200: it goes on inside cuStreamSynchronize and ncclCommInitRank,
#: because ctypes lets go of the interpreter lock.
BEAT_SECONDS = 0.005

#: Phase -> seconds without progress until a worker counts as stuck in it. Context creation took 0.1 to 0.45 s per GPU
#: on H200 and takes longer behind a cold driver; 1.5 s between steps of a soak is 1000 x the longest gap seen.
PHASES = {"start": 20.0, "driver": 30.0, "memory": 20.0, "join": 20.0, "verify": 10.0, "measure": 10.0, "soak": 1.5,
          "done": 10.0}

_NAMES = tuple(PHASES)
_BEAT, _PROGRESS, _MOVED, _PHASE = range(4)     # words of a slot: beat, progress, time of progress, phase
_SIZE = 64                                      # one cache line per worker: writers do not disturb each other
_WORDS = _SIZE // 8


@dataclass(frozen=True)
class State:
    """What a worker shows in the page. Ages are in seconds; None before the first sign of life."""

    phase: str
    progress: int
    beat_age: float | None
    progress_age: float | None


def state_of(words: memoryview, worker: int) -> State:
    """Return what ``worker`` last wrote into the page. A torn read is impossible: a word of a memoryview is read and
    written as a whole (struct.pack_into would fill it with zeros and then write its bytes)."""
    beat, progress, moved, phase = words[worker * _WORDS:worker * _WORDS + 4]
    now = time.monotonic_ns()
    return State(_NAMES[phase] if phase < len(_NAMES) else "start", progress,
                 (now - beat) / 1e9 if beat else None, (now - moved) / 1e9 if moved else None)


class Board:
    """The shared page, made by the parent. It is on no disk, because a write to a page of a full one ends in SIGBUS."""

    def __init__(self, workers: int) -> None:
        descriptor = os.memfd_create("tunecheck-beat", 0)
        os.ftruncate(descriptor, max(1, workers) * _SIZE)
        self.descriptor = descriptor
        self._page = mmap.mmap(descriptor, max(1, workers) * _SIZE)
        self._words = memoryview(self._page).cast("Q")

    def state(self, worker: int) -> State:
        """Return what ``worker`` last wrote into the page."""
        return state_of(self._words, worker)

    def close(self) -> None:
        self._words.release()
        self._page.close()
        os.close(self.descriptor)


class Beat:
    """The worker's side of the page. It beats by itself, and shows progress when the worker calls it."""

    def __init__(self, descriptor: int, worker: int) -> None:
        self.words = memoryview(mmap.mmap(descriptor, 0)).cast("Q")
        self._at = worker * _WORDS
        self._progress = 0
        self.phase("start")
        threading.Thread(target=self._run, name="beat", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.words[self._at + _BEAT] = time.monotonic_ns()
            time.sleep(BEAT_SECONDS)

    def phase(self, name: str) -> None:
        """Enter a phase; entering it is progress, told first: the new phase's limit may be below the old one's age."""
        self.step()
        self.words[self._at + _PHASE] = _NAMES.index(name)

    def step(self, count: int = 1) -> None:
        """Show that ``count`` units of work are done."""
        self._progress += count
        self.words[self._at + _PROGRESS] = self._progress
        self.words[self._at + _MOVED] = time.monotonic_ns()
