"""ansible-runner's own callback, without what an audit does not read: for every box it also tells that the task begins,
twice, each an event that goes through a file, standard output and ansible-runner to be thrown away.

And how often Ansible's main process looks for answers while all workers wait for theirs: every millisecond, unless an
ansible.cfg says otherwise, and each time it computes the next host's variables anew. There is no environment variable
and no argument for it, and the operator's ansible.cfg is left alone. 60 boxes that took 3 s each, six at a time: 13.7 s
of CPU time without this, 6.6 s with it."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible import constants  # type: ignore[import-untyped]
from ansible.plugins.loader import callback_loader  # type: ignore[import-untyped]

DOCUMENTATION = """
name: tunecheck_answers
type: stdout
short_description: The events of an audit
description: Part of tunecheck's audit. Sets internal_poll_interval for this run.
extends_documentation_fragment:
  - default_callback
"""
_SECONDS = 0.02


class CallbackModule(callback_loader.get("awx_display", class_only=True)):  # type: ignore[misc]
    CALLBACK_NAME = "tunecheck_answers"

    def v2_playbook_on_play_start(self, play: object) -> None:
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = max(_SECONDS, constants.DEFAULT_INTERNAL_POLL_INTERVAL)
        super().v2_playbook_on_play_start(play)

    def v2_playbook_on_task_start(self, task: object, is_conditional: bool) -> None:
        self.set_task(task)

    def v2_runner_on_start(self, host: object, task: object) -> None:
        self._host_start[host.get_name()] = datetime.now(UTC)       # type: ignore[attr-defined]
