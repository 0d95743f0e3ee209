"""ansible-runner's own callback, without what an audit does not read: for every box it also tells that the task begins,
twice, each an event that goes through a file, standard output and ansible-runner to be thrown away.

And how often Ansible's main process looks for answers while all workers wait for theirs: every millisecond, unless an
ansible.cfg says otherwise, and each time it computes the next host's variables anew. There is no environment variable
and no argument for it, and the operator's ansible.cfg is left alone. 60 boxes that took 3 s each, six at a time: 13.7 s
of CPU time without this, 6.6 s with it.

And how many boxes are asked at a time (see Turns), which Ansible takes for a constant."""

from __future__ import annotations

import os
import signal
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
#: A box that has been asked for so long (seconds) has been connected to, and now only waits for itself. On a processor
#: with nothing else to do an answer that lies ready takes 0.1 s.
_WAITS, _TICK = 0.5, 0.25


class Turns:
    """A box that only waits costs this machine memory and no processor, and another is asked beside it: so that slow
    boxes do not hold up the rest, nor one that never answers. Boxes that answer at once keep the processors busy with
    a few, and the memory small. Between the ``fewest`` and the play's own forks."""

    def __init__(self, fewest: int) -> None:
        self._fewest = fewest
        self._began: dict[str, float] = {}
        self._task: Any = None

    def task(self, task: Any) -> None:
        """What Ansible is about to ask a box; of all boxes it is the same object. It reads ``throttle`` of it whenever
        it looks whether there is room for one more."""
        if self._task is None:
            # Where nobody answers there are no events either. Ansible's workers do not inherit the timer, and refuse a
            # task with a timeout where they find a handler.
            os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGALRM, signal.SIG_DFL))
            signal.signal(signal.SIGALRM, lambda *_: self._set())
            signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        self._task = task
        self._set()

    def began(self, host: str) -> None:
        self._began[host] = time.monotonic()

    def ended(self, host: str) -> None:
        self._began.pop(host, None)
        self._set()

    def over(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _set(self) -> None:
        now = time.monotonic()
        waiting = sum(now - began > _WAITS for began in tuple(self._began.values()))
        self._task.throttle = min(self._fewest + waiting, context.CLIARGS["forks"])


class CallbackModule(callback_loader.get("awx_display", class_only=True)):  # type: ignore[misc]
    CALLBACK_NAME = "tunecheck_answers"
    #: None where the operator says how many.
    _turns = Turns(int(os.environ["TUNECHECK_FEWEST"])) if "TUNECHECK_FEWEST" in os.environ else None

    def v2_playbook_on_play_start(self, play: object) -> None:
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = max(_SECONDS, constants.DEFAULT_INTERNAL_POLL_INTERVAL)
        super().v2_playbook_on_play_start(play)

    def v2_playbook_on_task_start(self, task: object, is_conditional: bool) -> None:
        self.set_task(task)
        if self._turns:
            self._turns.task(task)

    def v2_runner_on_start(self, host: Any, task: object) -> None:
        self._host_start[host.get_name()] = datetime.now(UTC)
        if self._turns:
            self._turns.began(host.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        self._answered(result)
        super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._answered(result)
        super().v2_runner_on_failed(result, ignore_errors)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._answered(result)
        super().v2_runner_on_unreachable(result)

    def v2_playbook_on_stats(self, stats: object) -> None:
        if self._turns:
            self._turns.over()
        super().v2_playbook_on_stats(stats)

    def _answered(self, result: Any) -> None:
        if self._turns:
            self._turns.ended(result.host.get_name())
