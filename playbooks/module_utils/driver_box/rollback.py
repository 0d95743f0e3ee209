"""Go back to the driver packages that the receipt says were there before."""

from __future__ import annotations

import platform
import re

from ansible.module_utils.box_io import read_text, remove
from ansible.module_utils.gpu_users import SERVING_UNIT, gpu_users, serving
from ansible.module_utils.receipt import load, save
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.packages.apt_output import objections
from ansible.module_utils.tunecheck.parsers.packages.driver_set import INSTALLED_GLOBS, Exact

from . import pending
from .apply import kernels_of
from .base import DriverError, refuse
from .kernels import module_version
from .prove import kernel_changes
from .why import NoDriver

__all__ = ["absent", "driver_packages", "listing", "touched"]

_OTHERS = re.compile(r"^(?:linux-|kernel|gcc|cpp|dkms$|make$|nvidia-container|libnvidia-container)")


def driver_packages(installed):
    """Return those of {name: version} that belong to a driver: not kernels, compilers and the container toolkit."""
    return {name: version for name, version in installed.items() if not _OTHERS.match(name)
            or name.startswith("linux-modules-nvidia-")}


def listing(installed, held, found=None, removed=()):
    """Return driver packages as lines, for --diff and comparisons."""
    names = set(driver_packages(installed)) | {each.name for each in (found.install if found else ())}
    return "".join("%s %s%s\n" % (name, installed[name], " held" if name in held else "")
                   for name in sorted(names) if installed.get(name) and name not in removed)


def touched():
    """Return whether the module ever changed this box. If not, its packages are not judged."""
    return "driver" in (load().get("before") or {})


def absent(module, manager, folder):
    """Restore the former packages, and return the module's result. ``before`` in the receipt decides; without it only
    files of ours are taken away."""
    receipt = load()
    there = (receipt.get("before") or {}).get("driver")
    ours = receipt.get("driver") or {}
    installed, held = manager.installed(INSTALLED_GLOBS), manager.held()
    broken = manager.half_done() if there else []
    notes, back, gone = [], [], []
    if there:
        back = [Exact(name, version) for name, version in sorted(there["packages"].items())
                if installed.get(name) != version]
        offered = manager.available([each.name for each in back])
        lost = [each for each in back if each.version not in offered.get(each.name, ())]
        notes = ["%s %s is not offered any more and was left as it is" % each for each in lost]
        back = [each for each in back if each not in lost]
        gone = [name for name in ours.get("installed", []) if name in installed and name not in there["packages"]]
    files = [path for path in manager.own_files() if read_text(path)]
    unhold = [name for name in held if name in ours.get("held", []) and name not in (there or {}).get("held", [])]
    # What is moved back is unheld for it, so its hold is set again too.
    moving = {each.name for each in back}
    hold = [name for name in (there or {}).get("held", [])
            if name in moving or (name in installed and name not in held)]
    problems = _problems(manager, back, gone, broken)
    refuse(problems, "Nothing was written.")
    changed = bool(back or gone or files or unhold or hold or broken)
    before = listing(installed, held)
    kernel = platform.release()
    if changed and not module.check_mode:
        _undo(manager, back, gone, unhold, hold, broken)
        for path in files:
            remove(path)
        if ours:
            receipt.pop("driver", None)
            save(receipt)
    after = listing(manager.installed(INSTALLED_GLOBS), manager.held())
    if module.check_mode:
        after = listing({**installed, **dict(back)}, (set(held) | set(hold)) - set(unhold), removed=gone)
    version = module_version(module, kernel)
    return {"changed": changed, "version": version, "notes": notes, "kernels": [kernel], "nouveau": False,
            "pending": pending.waiting(module, kernel, version) if back or gone else [],
            "pending_reboot": bool((back or gone) and pending.waiting(module, kernel, version)),
            "actions": ["restore " + each.apt for each in back] + ["remove " + name for name in gone]
            + ["remove " + path for path in files] + ["unhold " + name for name in unhold],
            "diff": [{"before_header": "driver packages", "after_header": "driver packages", "before": before,
                      "after": after}] if before != after else []}




def _problems(manager, back, gone, broken):
    if not (back or gone):
        return []
    users = [user.text for user in gpu_users()] + ([SERVING_UNIT] if serving(manager.module) else [])
    said = [Refusal(NoDriver.GPUS_IN_USE, "the GPUs are in use: %s. Expected no process with a GPU open and no running "
                    "inference unit" % ", ".join(users))] if users else []
    if broken:
        return said
    what, refusal = manager.simulate(back, gone)
    if refusal:
        return [*said, Refusal(NoDriver.NOT_INSTALLABLE, refusal)]
    return [*said, *(Refusal(NoDriver.NOT_INSTALLABLE, "the transaction is refused: " + each)
                     for each in objections(what, dict(back), tuple(gone), None))]


def _undo(manager, back, gone, unhold, hold, broken):
    if broken:
        manager.heal()
    manager.unhold([*unhold, *(name for name in manager.held() if name in gone or name in dict(back))])
    before = kernels_of(manager)
    if back or gone:
        manager.install(back, gone)
        if gone:
            # Their configuration goes too: modprobe.d files of a driver that is gone keep nouveau out.
            manager.purge(gone)
    moved = kernel_changes(before, kernels_of(manager))
    if moved:
        raise DriverError(
            NoDriver.KERNEL_MOVED,
            "the rollback moved kernel packages: %s. Expected the kernel to stay; look at "
            "/var/log/apt/history.log before the next boot." % ", ".join(moved))
    manager.hold(hold)
