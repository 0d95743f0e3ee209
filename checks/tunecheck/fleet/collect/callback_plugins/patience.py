"""How often Ansible's main process looks for answers while all workers wait for theirs: every millisecond, unless an
ansible.cfg says otherwise, and each time it computes the next host's variables anew. There is no environment variable
and no argument for it, and the operator's ansible.cfg is left alone. 60 boxes that took 3 s each, six at a time: 13.7 s
of CPU time without this, 6.6 s with it."""

from __future__ import annotations

from ansible import constants  # type: ignore[import-untyped]
from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped]

DOCUMENTATION = """
name: patience
type: aggregate
short_description: Wait longer between two looks at the workers
description: Part of tunecheck's audit. Sets internal_poll_interval for this run.
"""
_SECONDS = 0.02


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "patience"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_play_start(self, play: object) -> None:
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = max(_SECONDS, constants.DEFAULT_INTERNAL_POLL_INTERVAL)
