"""How the workers of one trial hand each other a few bytes: memory handles, NCCL's id, "I am here".

A folder of the parent's, mode 0700, with one file per worker and word; files appear whole, by rename.
"""

from __future__ import annotations

import time
from pathlib import Path

from ...errors import TrialError

__all__ = ["Meeting"]


class Meeting:
    """A place where ``worker`` of ``count`` meets the others. Every wait is bounded by ``seconds``, which is beyond the
    limits of the phases that meet: the supervisor finds a worker that does not come while that worker still hangs."""

    def __init__(self, folder: str, worker: int, count: int, seconds: float = 30.0) -> None:
        self._folder = Path(folder)
        self._worker = worker
        self._count = count
        self._seconds = seconds

    def exchange(self, word: str, mine: bytes = b"") -> list[bytes]:
        """Write ``mine`` under ``word``, and return everybody's bytes, by worker. It waits until all are there;
        TrialError names who did not come."""
        temporary = self._folder / f".{word}.{self._worker}"
        temporary.write_bytes(mine)
        temporary.rename(self._folder / f"{word}.{self._worker}")
        until = time.monotonic() + self._seconds
        missing = set(range(self._count))
        while missing:
            missing = {worker for worker in missing if not (self._folder / f"{word}.{worker}").exists()}
            if missing and time.monotonic() > until:
                raise TrialError(f"worker {', '.join(map(str, sorted(missing)))} did not come to {word!r} within "
                                 f"{self._seconds:g} s")
            if missing:
                time.sleep(0.001)
        return [(self._folder / f"{word}.{worker}").read_bytes() for worker in range(self._count)]
