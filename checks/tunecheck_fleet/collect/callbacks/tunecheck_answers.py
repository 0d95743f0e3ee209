"""ansible-runner's own callback, without what an audit does not read: for every box it also tells that the task begins,
twice, each an event that goes through a file, standard output and ansible-runner to be thrown away.

And how often Ansible's main process looks for answers while all workers wait for theirs: every millisecond, unless an
ansible.cfg says otherwise, and each time it computes the next host's variables anew. There is no environment variable
and no argument for it, and the operator's ansible.cfg is left alone. 60 boxes that took 3 s each, six at a time: 13.7 s
of CPU time without this, 6.6 s with it.

And how many boxes are asked at a time (see Turns), which Ansible takes for a constant."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import Any

from ansible import constants, context  # type: ignore[import-untyped]
from ansible.plugins.loader import callback_loader  # type: ignore[import-untyped]

DOCUMENTATION = """
name: tunecheck_answers
type: stdout
short_description: The events of an audit
description: Part of tunecheck's audit. Sets internal_poll_interval and the task's throttle for this run.
extends_documentation_fragment:
  - default_callback
"""
_SECONDS = 0.02
#: A box that has been asked for so long (seconds) only waits for itself, or for the network.
_WAITS = 1.0
#: How often it is looked (seconds), what share of the processors then has nothing to do (a mean in which this look has
#: that weight), and between which shares nothing is changed.
_TICK, _WEIGHT, _BUSY, _IDLE = 0.25, 0.1, 0.25, 0.55


class Turns:
    """How many boxes are asked at a time: ``fewest``, and up to ``more`` beside them, one for each box that has only
    waited for longer than _WAITS, and some while processors idle. Each costs 11 MiB. Boxes that answer at once keep the
    processors busy with few; slow ones are asked side by side, and one that never answers takes nobody's turn. After
    ``longest`` seconds it is no box that waits but a worker that somebody has killed."""

    def __init__(self, fewest: int, more: int, longest: float) -> None:
        self._fewest, self._more, self._longest = fewest, more, longest
        self._began: dict[str, float] = {}
        self._idle, self._extra = 0.0, 0

    def began(self, host: str, now: float) -> None:
        self._began[host] = now

    def ended(self, host: str) -> None:
        self._began.pop(host, None)

    def looked(self, idle: float) -> None:
        """``idle``: the share of the processors' time since the last look in which they had nothing to do."""
        self._idle += _WEIGHT * (idle - self._idle)
        self._extra += (self._idle > _IDLE) - (self._idle < _BUSY)
        self._extra = max(0, min(self._more, self._extra))

    def now(self, now: float) -> int:
        waiting = sum(_WAITS < now - began < self._longest for began in tuple(self._began.values()))
        return self._fewest + min(self._more, waiting + self._extra)


def _processors() -> tuple[int, int]:
    """Of those that we may use, in ticks since boot: with nothing to do, and in all; see proc_stat(5). (0, 0) where
    that cannot be told. Without psutil, which Ansible's Python may lack."""
    ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [list(map(int, words[1:9])) for words in map(str.split, stat) if words[0] in ours]
    except (OSError, ValueError):
        return 0, 0
    return sum(each[3] + each[4] for each in ticks), sum(map(sum, ticks))


class CallbackModule(callback_loader.get("awx_display", class_only=True)):  # type: ignore[misc]
    CALLBACK_NAME = "tunecheck_answers"
    #: None where the operator says how many.
    _turns: Turns | None = None

    def v2_playbook_on_play_start(self, play: object) -> None:
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = max(_SECONDS, constants.DEFAULT_INTERNAL_POLL_INTERVAL)
        super().v2_playbook_on_play_start(play)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Of all boxes it is the same object, whose ``throttle`` Ansible reads whenever it looks whether there is room
        for one more."""
        self.set_task(task)
        if self._turns is None and "TUNECHECK_FEWEST" in os.environ:
            fewest = int(os.environ["TUNECHECK_FEWEST"])
            self._turns = Turns(fewest, context.CLIARGS["forks"] - fewest, float(os.environ["TUNECHECK_SECONDS"]) + 20)
            threading.Thread(target=self._watch, args=(task, self._turns), daemon=True).start()

    def v2_runner_on_start(self, host: Any, task: object) -> None:
        self._host_start[host.get_name()] = datetime.now(UTC)
        if self._turns:
            self._turns.began(host.get_name(), time.monotonic())

    def v2_runner_on_ok(self, result: Any) -> None:
        self._ended(result)
        super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._ended(result)
        super().v2_runner_on_failed(result, ignore_errors)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._ended(result)
        super().v2_runner_on_unreachable(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._ended(result)
        super().v2_runner_on_skipped(result)

    def _ended(self, result: Any) -> None:
        if self._turns:
            self._turns.ended(result.host.get_name())

    @staticmethod
    def _watch(task: Any, turns: Turns) -> None:
        """In a thread, for where no box answers there are no events either. Ansible's workers do not inherit it."""
        idle, total = _processors()
        while True:
            time.sleep(_TICK)
            before, (idle, total) = (idle, total), _processors()
            if total > before[1]:
                turns.looked((idle - before[0]) / (total - before[1]))
            task.throttle = turns.now(time.monotonic())
