"""Show the progress of jobs as one line: what runs, for how long, how far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..util.live_line import LiveLine
from .children import Job
from .heartbeat import State

__all__ = ["Shown"]

_NAMES = {"copies": "pairs of GPUs", "reduce": "all-reduce", "probe": "peer copies"}


class Shown:
    """A ``progress`` for a supervisor that shows it on ``line``: phase, seconds in it (of how many, where that is
    known), steps."""

    def __init__(self, line: LiveLine, clock: Callable[[], float] = time.monotonic) -> None:
        self._line = line
        self._clock = clock
        self._phase: tuple[str, str] | None = None
        self._began = 0.0
        self._before = 0

    def __call__(self, jobs: Sequence[Job], states: Sequence[State]) -> None:
        if not jobs or not states:
            return
        state = min(states, key=lambda each: each.progress)     # all wait for the one that has got less far
        title = _title(jobs)
        if self._phase != (title, state.phase):
            self._phase, self._began, self._before = (title, state.phase), self._clock(), state.progress
        whole = jobs[0].parameters.get("soak_seconds") if state.phase == "soak" else None
        seconds = f"{self._clock() - self._began:.0f}{f' of {whole:g}' if whole else ''} s"
        steps = max(0, state.progress - self._before)
        self._line.show(f"tunecheck: {title}, {state.phase} {seconds}, {steps} step{'' if steps == 1 else 's'}")


def _title(jobs: Sequence[Job]) -> str:
    job = jobs[0]
    name = job.name.partition(":")[0].rpartition(".")[2]
    arm = " without P2P" if job.environment.get("NCCL_P2P_DISABLE") == "1" else ""
    count = f" of {len(jobs)} GPUs" if len(jobs) > 1 else ""
    return f"{_NAMES.get(name, name)}{count}{arm}"
