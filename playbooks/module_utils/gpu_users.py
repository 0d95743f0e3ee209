"""Who uses the GPUs of this box: processes with a device file open, and the inference unit."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from ansible.module_utils.box_io import read_text

__all__ = ["SERVING_UNIT", "User", "gpu_users", "serving"]

SERVING_UNIT = "tunecheck-inference.service"
#: Keeps the driver loaded and holds the device files open on every healthy box.
HARMLESS = {"nvidia-persiste"}


class User(NamedTuple):
    """A process with a GPU open: "name (pid N)", and whether it belongs to the inference unit."""

    text: str
    of_unit: bool


def gpu_users():
    """Processes with a GPU's device file open, by process id."""
    found = {}
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            target = os.readlink(link)
        except OSError:
            continue    # gone meanwhile
        if target.startswith("/dev/nvidia") and target[len("/dev/nvidia"):].isdigit():
            pid = link.split("/")[2]
            name = read_text("/proc/%s/comm" % pid).strip()
            if name not in HARMLESS:
                found[pid] = User("%s (pid %s)" % (name, pid), SERVING_UNIT in read_text("/proc/%s/cgroup" % pid))
    return [found[pid] for pid in sorted(found, key=int)]


def serving(module):
    """Whether the inference unit runs."""
    program = module.get_bin_path("systemctl")
    return bool(program) and module.run_command([program, "is-active", "--quiet", SERVING_UNIT])[0] == 0
