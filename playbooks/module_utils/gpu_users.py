"""Who uses the GPUs of this box: processes with a device file open, and the inference unit."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from ansible.module_utils import processes

__all__ = ["SERVING_UNIT", "User", "gpu_users", "serving"]

SERVING_UNIT = "tunecheck-inference.service"
#: Keeps the driver loaded and holds the device files open on every healthy box.
HARMLESS = {"nvidia-persistenced"}


class User(NamedTuple):
    """A process with a GPU open: "name (pid N)", and whether it belongs to the inference unit."""

    text: str
    of_unit: bool


def gpu_users():
    """Return the processes with a GPU's device file open, by process id."""
    found = {}
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            target = os.readlink(link)
        except OSError:
            continue    # gone meanwhile
        if target.startswith("/dev/nvidia") and target[len("/dev/nvidia"):].isdigit():
            pid = link.split("/")[2]
            path = processes.cgroup(pid)
            # Not by the name that it gives itself, and not what a user started: that one is his.
            if processes.program(pid) in HARMLESS and "user.slice" not in path.split("/"):
                continue
            name = processes.read(pid, "comm").strip()
            found[pid] = User("%s (pid %s)" % (name, pid), processes.in_unit(path, SERVING_UNIT))
    return [found[pid] for pid in sorted(found, key=int)]


def serving(module):
    """Return whether the inference unit runs."""
    program = module.get_bin_path("systemctl")
    return bool(program) and module.run_command([program, "is-active", "--quiet", SERVING_UNIT])[0] == 0
