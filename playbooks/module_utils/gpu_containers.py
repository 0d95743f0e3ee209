"""Containers that have GPUs, and whether systemd's next daemon-reload takes these away.

NVIDIA's old hook opens the devices behind the runtime's back: the unit that systemd keeps for the container does not
list them, and a daemon-reload applies that unit's list again (NVIDIA/nvidia-container-toolkit issues 48, 251 and 1227;
NVIDIA/gpu-operator issue 485). What CDI or --device passes stands in the OCI configuration, so the unit lists it, and a
reload is harmless. Hence the criterion: the configuration of the running container, whatever the engine."""

from __future__ import annotations

import glob
import json
import os
import re
from enum import Enum

from ansible.module_utils import processes
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.util import safe_files

__all__ = ["UNIT", "Container", "Loses", "active_units", "judge", "refusal", "reload", "running"]

UNIT = "tunecheck-inference.service"
_HOOKS = {"nvidia-container-runtime-hook", "nvidia-container-toolkit", "nvidia-container-cli"}
_ID = re.compile(r"\b[0-9a-f]{64}\b")
_WAY_OUT = "End them first, or let CDI pass the GPUs (--device nvidia.com/gpu=all), and run the play again."


class Container:
    """A running container. ``how`` it has its GPUs: ``listed`` (in its OCI configuration), ``hook``, ``unlinked``
    (listed, but runc cannot tell systemd, for lack of the link in /dev/char), ``unknown``, or "" for none."""

    def __init__(self, identity, how, name=""):
        self.identity, self.how, self.name = identity, how, name or identity[:12]

    def __repr__(self):
        return "%s (%s)" % (self.name, self.how)


class Loses(Enum):
    """Why a daemon-reload could take the GPUs from a container: how it has them."""

    HOOK = "hook"
    UNLINKED = "unlinked"
    UNKNOWN = "unknown"
    #: An inference unit is active, and none of its containers is seen.
    UNSEEN = "unseen"


def judge(config, runtime, linked):
    """Return ``how`` a container has its GPUs, from its OCI configuration (as data). ``runtime``: its executable's
    name; ``linked``: whether a device number such as ``195:0`` has its link in /dev/char. Pure."""
    if not isinstance(config, dict):
        return "unknown"
    linux = config.get("linux") if isinstance(config.get("linux"), dict) else {}
    devices = [each for each in linux.get("devices") or () if isinstance(each, dict)
               and str(each.get("path", "")).startswith("/dev/nvidia")]
    if devices:
        # runc before 1.2 leaves out of the unit what has no link (NVIDIA/gpu-operator issue 485); crun needs none.
        numbers = ["%s:%s" % (each.get("major"), each.get("minor")) for each in devices]
        return "unlinked" if runtime.startswith("runc") and not all(map(linked, numbers)) else "listed"
    hooks = config.get("hooks") if isinstance(config.get("hooks"), dict) else {}
    paths = [str(each.get("path", "")) for phase in hooks.values() if isinstance(phase, list) for each in phase
             if isinstance(each, dict)]
    return "hook" if any(os.path.basename(path) in _HOOKS for path in paths) else ""


def refusal(containers, units):
    """Return why there must be no daemon-reload now, a Refusal; "" where it is harmless. ``units``: inference units
    that are active. Pure."""
    lost = [each for each in containers if each.how == "hook"]
    if lost:
        return Refusal(
            Loses.HOOK,
            "NVIDIA's hook passed the GPUs to %s: they would lose them at a daemon-reload. %s"
            % (_named(lost), _WAY_OUT))
    unlinked = [each for each in containers if each.how == "unlinked"]
    if unlinked:
        return Refusal(
            Loses.UNLINKED,
            "%s run under runc, and devices of theirs have no link in /dev/char: they could lose their GPUs at a "
            "daemon-reload. Make the links (nvidia-ctk system create-dev-char-symlinks --create-all) and run the play "
            "again." % _named(unlinked))
    unknown = [each for each in containers if each.how == "unknown"]
    if unknown:
        return Refusal(
            Loses.UNKNOWN,
            "how %s got its GPUs cannot be read: it could lose them at a daemon-reload. %s"
            % (_named(unknown), _WAY_OUT))
    if units and not any(each.how == "listed" for each in containers):
        return Refusal(
            Loses.UNSEEN,
            "%s is active, and how it got its GPUs cannot be seen: it could lose them at a daemon-reload. Stop it "
            "(systemctl stop %s) or wait until it serves, and run the play again." % (units[0], units[0]))
    return ""


def _named(containers):
    shown = ", ".join(each.name for each in containers[:4])
    return "container%s %s%s" % ("s" if len(containers) > 1 else "", shown, " and more" if len(containers) > 4 else "")


def running(proc="/proc"):
    """Return the box's running containers, found by the process that watches over each (conmon, containerd-shim) and
    names its bundle. Only root's: the unit of a user's container lists no devices at all (loading such a list takes
    CAP_SYS_ADMIN; runc and crun leave it out without root), so a daemon-reload takes nothing away, and what a user's
    process names as its bundle is a path that the user chose."""
    found = {}
    for bundle, runtime, name in _bundles(proc):
        try:
            config = json.loads(safe_files.read_beneath(bundle, "config.json"))
        except (OSError, ValueError, RecursionError):
            config = None
        identity = (_ID.findall(bundle) or [bundle])[-1]
        how = judge(config, runtime, lambda number: os.path.exists("/dev/char/" + number))
        found[identity] = Container(identity, how, name)
    for identity in _holders(proc) - set(found):
        found[identity] = Container(identity, "unknown")
    return [found[identity] for identity in sorted(found)]


def active_units(module):
    """Return the inference unit where it is active or starting, as a list."""
    _code, out, _err = module.run_command(["systemctl", "is-active", UNIT])
    return [UNIT] if out.strip() in ("active", "activating", "reloading") else []


def reload(module, stopped=""):
    """Let systemd read its units again, outside check mode. Return why not, or "". ``stopped``: the name of our own
    container, where its unit is stopped or about to be."""
    containers = [each for each in running() if not stopped or each.name != stopped]
    refused = refusal(containers, [] if stopped else active_units(module))
    if not refused and not module.check_mode:
        module.run_command(["systemctl", "daemon-reload"], check_rc=True)
    return refused


def _bundles(proc):
    for folder in glob.glob(proc + "/[0-9]*"):
        pid = os.path.basename(folder)
        name = processes.program(pid, proc)
        if not (name == "conmon" or name.startswith("containerd-shim")) or not processes.of_root(pid, proc):
            continue
        try:
            if name == "conmon":
                words = processes.read(pid, "cmdline", proc).split("\0")
                if "-b" in words:
                    yield _after(words, "-b"), os.path.basename(_after(words, "-r")), _after(words, "-n")
                continue
            # Its folder is its bundle; a pod's further containers lie beside it.
            for place in glob.glob(os.path.dirname(os.readlink(folder + "/cwd")) + "/*/init.pid"):
                first = safe_files.read_beneath(os.path.dirname(place), "init.pid", 64).decode("ascii", "replace")
                if os.path.isdir("%s/%s" % (proc, first.strip() or "none")):
                    yield os.path.dirname(place), "runc", ""
        except (OSError, IndexError):
            continue    # gone meanwhile


def _after(words, option):
    return words[words.index(option) + 1] if option in words else ""


def _holders(proc):
    """Return the ids of containers whose processes hold a GPU's device file open, without those that a user may have
    made up."""
    found = set()
    for link in glob.glob(proc + "/[0-9]*/fd/*"):
        try:
            if os.readlink(link).startswith("/dev/nvidia"):
                path = processes.cgroup(link.split("/")[-3], proc)
                found.update([] if processes.delegated(path) else _ID.findall(path)[-1:])
        except OSError:
            continue
    return found
