"""The writes, in the order in which an interruption does least harm. The next run finds out where an interrupted one
stopped."""

from __future__ import annotations

import os

from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.gpu_users import SERVING_UNIT, gpu_users, serving
from ansible.module_utils.tunecheck.parsers.packages.apt_output import KERNEL
from ansible.module_utils.tunecheck.parsers.packages.driver_set import INSTALLED_GLOBS

from .base import SYSTEM_PATH, DriverError, tail
from .build import trial_build
from .decide import simulated
from .kernels import module_version
from .prove import kernel_changes
from .why import NoDriver

__all__ = ["drain", "kernels_of", "packages_change", "trial", "write_files"]


def write_files(manager, decision):
    """Write repository, key, pins and blacklist; return True where something changed."""
    if manager.key_path in decision.write:
        write_text(manager.key_path, decision.key.decode("utf-8", "surrogateescape"))
    for path in decision.write:
        if path != manager.key_path:
            write_text(path, decision.files[path]) if decision.files[path] else remove(path)
    return bool(decision.write)


def drain(module):
    """Stop the inference unit. DriverError where a process still holds a GPU afterwards."""
    if serving(module):
        code, out, err = module.run_command(["systemctl", "stop", SERVING_UNIT])
        if code != 0:
            raise DriverError(
                NoDriver.NOT_STOPPED,
                "systemctl stop %s failed (exit %d): %s. No driver package was touched."
                % (SERVING_UNIT, code, tail(err or out)))
    users = [user.text for user in gpu_users()]
    if users:
        raise DriverError(
            NoDriver.GPUS_IN_USE,
            "%s is stopped, but the GPUs are still in use: %s. Expected no process with a GPU open. Stop "
            "them and run the play again; no driver package was touched."
            % (SERVING_UNIT, ", ".join(users)))


def kernels_of(manager):
    """Return {name: version} of the installed kernel packages."""
    return {name: version for name, version in manager.installed(INSTALLED_GLOBS).items() if KERNEL.match(name)}


def trial(module, manager, decision, folder):
    """Build the module for the kernels that will need it, where the change brings another one."""
    found = decision.plan
    if decision.change and found.dkms_package is not None and decision.build:
        work = os.path.join(folder, "build")
        os.makedirs(work)
        trial_build(manager, found.dkms_package, dict.fromkeys((decision.box.kernel, decision.box.next_kernel)), work,
                    decision.look)


def packages_change(module, manager, decision, folder, tried, draining):
    """Do the whole change: prerequisites, trial build, files, and the one transaction with the holds behind it."""
    found = decision.plan
    if decision.prerequisites:
        manager.install(decision.prerequisites, (), decision.look)
    if not tried:
        trial(module, manager, decision, folder)
    write_files(manager, decision)
    decision.write = []
    decision.prerequisites = []
    manager.refresh(found.repository is not None)
    if found.repository is not None and found.repository.module_stream:
        manager.enable_stream(found.repository.module_stream)
    refused = simulated(manager, decision, look=False)
    if refused:
        raise DriverError(
            NoDriver.NOT_INSTALLABLE,
            "%s. The repository's files are in place; no driver package was touched."
            % "; ".join(refused))
    if draining:
        drain(module)
    before = kernels_of(manager)
    moving = {each.name for each in found.install} | set(found.remove)
    manager.unhold([name for name in decision.box.held if name in moving or name in decision.unhold])
    manager.install(found.install, found.remove)
    moved = [] if found.kernel_hold else kernel_changes(before, kernels_of(manager))
    if moved:
        raise DriverError(
            NoDriver.KERNEL_MOVED,
            "the transaction moved kernel packages: %s. Expected the kernel to stay; look at "
            "/var/log/apt/history.log before the next boot." % ", ".join(moved))


def missing_builds(module, manager, decision):
    """Let DKMS build for kernels that the packages' own scripts left out: they only look at one or two."""
    program = module.get_bin_path("dkms")
    for release in decision.build:
        if program and module_version(module, release) != decision.plan.version:
            code, out, err = module.run_command([program, "autoinstall", "-k", release],
                                                environ_update={"LC_ALL": "C.UTF-8", "PATH": SYSTEM_PATH})
            if code != 0:
                raise DriverError(
                    NoDriver.NOT_BUILT,
                    "dkms autoinstall -k %s failed (exit %d): %s. The packages are installed; "
                    "the kernel %s has no driver. Read /var/lib/dkms/*/*/build/make.log."
                    % (release, code, tail(err or out), release))


def remove_files(manager):
    """Take away everything that ``write_files`` wrote; return the paths that were there."""
    return [path for path in manager.own_files() if read_text(path) and remove(path)]
