"""Action plugin: the module of this name, told from which revision of the roles this play is run.

The revision is the control node's to read. As a task of its own it was a worker of Ansible's more for each receipt of
each box."""

from __future__ import annotations

import subprocess

from ansible.plugins.action import ActionBase

#: The working tree may be on a slow or hanging network file system: a receipt does not wait for that.
_SECONDS = 20


def revision(folder):
    """Return what git calls the checkout that ``folder`` is in, "-dirty" behind it where a file differs; "unknown"
    where that cannot be read."""
    argv = ["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"


class ActionModule(ActionBase):
    """Takes what the module takes; ``git_revision`` is added."""

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        arguments = {**self._task.args, "git_revision": revision(task_vars["playbook_dir"])}
        result.update(self._execute_module("box_receipt", module_args=arguments, task_vars=task_vars))
        return result
