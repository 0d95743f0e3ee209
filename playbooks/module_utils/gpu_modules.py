"""NVIDIA's kernel modules: whether they can be taken out of the running kernel, and taking them out.

A kernel that is started by kexec gets devices that were not reset. The driver's shutdown hook does not end the GPU's
firmware in every version (open-gpu-kernel-modules, nv_pci_shutdown(): up to 575 it only clears bus mastering), its
removal does. nvidia-persistenced holds them on every healthy box and is stopped for it."""

from __future__ import annotations

import glob
import os
from enum import Enum
from typing import NamedTuple

from ansible.module_utils import bounded, processes
from ansible.module_utils.box_io import read_text
from ansible.module_utils.gpu_users import HARMLESS
from ansible.module_utils.refusal import Refusal

__all__ = ["Held", "loaded", "refusal", "unload"]

_LIST = "/proc/modules"
_FDS = "/proc/[0-9]*/fd/*"
_UNIT = "nvidia-persistenced.service"
#: The driver waits for the GPU's firmware, some seconds a board.
_SECONDS = 120


class Held(Enum):
    """Why NVIDIA's modules cannot be taken out."""

    #: A process has a GPU open.
    IN_USE = "gpus-in-use"
    #: No process has, and the reference count says that something in the kernel does.
    HELD = "gpu-driver-held"
    #: They cannot be unloaded at all.
    STAYS = "gpu-driver-stays"


class _Module(NamedTuple):
    """A line of /proc/modules. ``count``: of references, -1 where it cannot be unloaded; ``users``: modules."""

    count: int
    users: tuple


def _modules():
    found = {}
    for line in read_text(_LIST).splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        users = [name for name in fields[3].split(",") if name not in ("", "-")]
        stays = "[permanent]" in users or not fields[2].isdigit()
        found[fields[0]] = _Module(-1 if stays else int(fields[2]),
                                   tuple(name for name in users if not name.startswith("[")))
    return found


def loaded():
    """Return nvidia and the modules that stand on it, those first that no other needs; empty without the driver."""
    modules, order = _modules(), []

    def add(name):
        for user in modules[name].users if name in modules else ():
            add(user)
        if name in modules and name not in order:
            order.append(name)

    add("nvidia")
    return order


def refusal():
    """Return a Refusal where they cannot be taken out, else None."""
    modules, names = _modules(), loaded()
    stay = [name for name in names if modules[name].count < 0]
    if stay:
        return Refusal(
            Held.STAYS, "the kernel module %s cannot be unloaded, and the GPUs must not be handed to another kernel "
            "with their driver loaded" % stay[0])
    users, harmless = _holders()
    if users and names:
        return Refusal(
            Held.IN_USE, "GPUs are in use by %s, and their driver has to be unloaded first; stop what uses them"
            % ", ".join(users[:8]))
    held = [name for name in names if modules[name].count > len(modules[name].users)]
    if held and not harmless:
        return Refusal(
            Held.HELD, "something in the kernel holds the module %s (%d references): persistence mode without its "
            "daemon (nvidia-smi -pm 0 ends it), a console on a GPU, or a virtual machine; release it, so that it can "
            "be unloaded" % (held[0], modules[held[0]].count))
    return None


def _holders():
    """Return (processes with a device file of the driver open, as "name (pid N)"; whether nvidia-persistenced has)."""
    found, harmless = {}, False
    for link in glob.glob(_FDS):
        try:
            target = os.readlink(link)
        except OSError:
            continue    # gone meanwhile
        if target.startswith("/dev/nvidia"):
            pid = link.split("/")[-3]
            if processes.program(pid) in HARMLESS:
                harmless = True
            else:
                found[pid] = "%s (pid %s)" % (processes.read(pid, "comm").strip(), pid)
    return [found[pid] for pid in sorted(found, key=int)], harmless


def unload():
    """Take them out, with nvidia-persistenced stopped. Return None, or a Refusal where one stays; then those that went
    are loaded again, and the daemon started."""
    names = loaded()
    if not names:
        return None
    daemon = bounded.run(["systemctl", "is-active", "--quiet", _UNIT], _SECONDS)[0] == 0
    if daemon:
        bounded.run(["systemctl", "stop", _UNIT], _SECONDS)
    gone = []
    for name in names:
        code, out, err = bounded.run(["/sbin/rmmod", name], _SECONDS)
        if code != 0:
            for each in reversed(gone):
                bounded.run(["/sbin/modprobe", each], _SECONDS)
            if daemon:
                bounded.run(["systemctl", "start", _UNIT], _SECONDS)
            users = _holders()[0]
            return Refusal(
                Held.IN_USE if users else Held.HELD, "the GPUs' driver could not be unloaded: rmmod %s: %s%s"
                % (name, (err or out).strip() or "exit code %s" % code,
                   "; in use by " + ", ".join(users[:8]) if users else ""))
        gone.append(name)
    return None
