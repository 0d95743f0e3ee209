"""What was seen of one host in the answers of its tasks."""

from __future__ import annotations

import errno
import os
import re

__all__ = ["Box", "locks"]

#: Words of what keeps Ansible itself from working; anything else is a task's own failure, which says its remedy.
_KEPT_OUT = re.compile(r"sudo|become|password|privilege|permission denied|interpreter|python.*not found|no space left|"
                       r"no usable temporary directory",
                       re.IGNORECASE)
#: Why the system starts no program: it is not there, may not be run, or is none.
_NO_START = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
#: Where a module of ours says in its answer what it did, or would do.
_SAID = ("actions", "written", "done")


def locks(task):
    return task.action.endswith("box_lock") and task.args.get("state") == "held"


def _not_started(data):
    """Return which program a module could not start, and why: its own message names neither. The result code is the
    system's error number then (AnsibleModule.run_command). A command that ran and failed has the time of its start."""
    if not data.get("cmd") or "start" in data or data.get("rc") not in _NO_START or not data.get("msg"):
        return ""
    if data.get("stdout") or data.get("stderr"):
        return ""
    command = data["cmd"] if isinstance(data["cmd"], str) else " ".join(map(str, data["cmd"]))
    return f" ({command}: {os.strerror(data['rc'])})"


def _item(data):
    """Return the answer that says why: of a task with a loop, the one of the first item that failed; the task's own
    says only that one did."""
    return next((each for each in data.get("results") or () if isinstance(each, dict) and each.get("failed")), data)


def _details(data):
    """Return what a task says that it changed, item by item."""
    found = [str(each) for key in _SAID for each in data.get(key) or ()]
    found += [str(each.get("item")) for each in data.get("results") or () if isinstance(each, dict)
              and each.get("changed")]
    return found or [each["before_header"] for each in data.get("diff") or () if isinstance(each, dict)
                     and each.get("before_header") and each.get("before") != each.get("after")]


class Box:
    """What was seen of one host. ``changed``: the tasks that changed it, or would, in order; ``details``: per task what
    it said of that; ``reboots``: its reboot was reached; ``pending``: what it changed waits for one."""

    def __init__(self):
        self.spec, self.info, self.trial, self.watchdog, self.bmc, self.locked = {}, {}, {}, {}, {}, "none"
        self.one_shot, self.by_kexec = "", False
        self.changed, self.details, self.notes = [], {}, []
        self.refused, self.kept_out, self.rebooting = "", "", False
        self.holds_lock, self.reboots, self.pending, self.frozen, self.said = False, False, False, False, False

    def ok(self, data, task, check):
        """Take the answer of a task that ended well. ``check``: it only said what it would do."""
        facts = data.get("ansible_facts") or {}
        if "box_spec_frozen" in facts:
            self.spec, self.frozen = facts["box_spec_frozen"].get("spec", {}), True
        if "kernel_cmdline_watchdog" in facts:
            self.watchdog = facts["kernel_cmdline_watchdog"]
            self.one_shot = facts.get("kernel_cmdline_one_shot", "")
            self.by_kexec = facts.get("kernel_cmdline_one_shot_code") == "kexec"
        self.locked = facts.get("pcie_acs_locked", self.locked)
        if "boot_trial_bmc" in facts:
            self.bmc = facts["boot_trial_bmc"]
        if "boot_trial_needs_reboot" in facts:
            self.trial = facts
        if task.action.endswith("box_lock") and not check:
            self.holds_lock = locks(task)
        if task.action.endswith("box_info") and not self.info:
            self.info = data
        if task.action.rpartition(".")[2] == "reboot":
            self.reboots = True
            return      # no change of its own
        self.notes += [str(each) for each in data.get("notes") or () if str(each) not in self.notes]
        restored = task.action.endswith("kernel_cmdline") and task.args.get("state") == "absent" and data.get("changed")
        self.pending = self.pending or bool(restored or (task.action.endswith("driver_packages")
                                                         and data.get("pending_reboot")))
        if data.get("changed") and not task.action.endswith("box_lock"):
            if task.get_name() not in self.changed:
                self.changed.append(task.get_name())
            self.details.setdefault(task.get_name(), []).extend(_details(data))

    def failed(self, data, task):
        """Take the answer of a task that failed. What fails behind it only follows from it."""
        if self.refused:
            return
        data = _item(data)
        output = " ".join(str(data.get(key) or "") for key in ("msg", "module_stderr", "module_stdout"))
        reason = str(data.get("msg") or output).strip() or f"a task failed and said nothing: {task.get_name()}"
        self.refused = f"{reason}{_not_started(data)}"
        own = task.action.rpartition(".")[2] in ("fail", "assert") or ("rc" in data and "module_stderr" not in data)
        self.kept_out = output if not own and _KEPT_OUT.search(output) else ""

    def unreachable(self, data, task):
        """Take that Ansible lost the host at this task."""
        self.kept_out = self.kept_out or str(data.get("msg") or "unreachable")
        self.rebooting = getattr(getattr(task, "_role", None), "_role_name", "") == "boot_trial"
