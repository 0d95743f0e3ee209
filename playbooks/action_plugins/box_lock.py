"""Action plugin: knows on the control node who we are and whether an earlier owner is still alive."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import time

from ansible.plugins.action import ActionBase


def control_node():
    """An id of this control node that says nothing about it to the box."""
    try:
        with open("/etc/machine-id", encoding="ascii") as handle:
            identity = handle.read().strip()
    except OSError:
        identity = socket.gethostname()
    return hashlib.sha256(("tunecheck-lock:" + identity).encode()).hexdigest()[:16]


def started(pid):
    """Start time of a process in clock ticks since boot, or None when it is gone: a pid alone may be reused."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as handle:
            return handle.read().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return None


#: What to do about a lock: of a play that runs on this control node, and of one that nobody can look at from here.
_HERE = ("That play still runs here: wait for it to end, or end it (Ctrl-C where it runs, or kill %s). Then run the "
         "same command again: it takes over the lock at once")
_ELSEWHERE = ("The lock has no time limit: it is released when that play ends, so wait for it. If that play was ended "
              "in the middle (Ctrl-C), run its command again on its own control node, which takes over the lock at "
              "once. If its control node is gone, run here again with -e box_lock_steal=%s")


class ActionModule(ActionBase):
    """Take, take over or release the box's lock on behalf of this ansible-playbook run."""

    _VALID_ARGS = frozenset(("state", "steal"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        # The worker is a fork of ansible-playbook: its parent is the process that lives as long as the play.
        play = os.getppid()
        owner = {
            "who": "%s, process %d of the control node %s" % (getpass.getuser(), play, socket.gethostname()),
            "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "control": control_node(), "pid": play, "started": started(play),
        }
        token = "%s:%s:%s" % (owner["control"], play, owner["started"])
        owner["token"] = hashlib.sha256(token.encode()).hexdigest()[:16]
        arguments = {"state": self._task.args["state"], "owner": owner, "steal": self._task.args.get("steal") or None}
        answer = self._execute_module(module_name="box_lock", module_args=arguments, task_vars=task_vars)
        held_by = answer.get("holder")
        if held_by and held_by.get("control") == owner["control"] and started(held_by["pid"]) != held_by["started"]:
            arguments["steal"] = held_by["token"]
            answer = self._execute_module(module_name="box_lock", module_args=arguments, task_vars=task_vars)
            held_by = answer.get("holder")
        result.update(answer)
        if held_by:
            result["failed"] = True
            here = held_by.get("control") == owner["control"]
            result["msg"] = "another play works on this box: held by %s since %s. Nothing was written. %s" % (
                held_by.get("who"), held_by.get("since"), (_HERE if here else _ELSEWHERE) % held_by.get(
                    "pid" if here else "token"))
        return result
