"""The EFI system partitions that proxmox-boot-tool keeps alike, one on each disk of a mirror. Nobody mounts them but
the tool, for the time of each call, in a mount namespace of its own; so does this process, and with it they are gone.
"""

from __future__ import annotations

import ctypes
import os

from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.kernel import proxmox_boot

from . import efi
from .base import SYSTEM_PATH, BootloaderError
from .why import Why

__all__ = ["LIST", "kept", "mounted"]

LIST = proxmox_boot.LIST
_DEVICES = "/dev/disk/by-uuid/"
_PARTITIONS = "/dev/disk/by-partuuid/"
_POINTS = "/run/tunecheck/espmounts/"
#: The partition from which systemd-boot was started, of the Boot Loader Interface.
_BOOTED = "LoaderDevicePartUUID"
_CLONE_NEWNS = 0x00020000


def kept():
    """Return the UUIDs that the tool has on its list; none where this box does not use it."""
    return proxmox_boot.kept(read_text(LIST))


def mounted(module):
    """Return the folders at which the partitions are mounted, for this process alone: first the one from which this
    boot came. One whose disk is gone is left out, as by the tool. BootloaderError where one cannot be mounted, or where
    this boot came from another."""
    there = [uuid for uuid in kept() if os.path.exists(_DEVICES + uuid)]
    booted = efi.variable(_BOOTED).lower()
    first = os.path.realpath(_PARTITIONS + booted) if booted else ""
    there.sort(key=lambda uuid: os.path.realpath(_DEVICES + uuid) != first)
    if not there or os.path.realpath(_DEVICES + there[0]) != first:
        raise BootloaderError(
            Why.OTHER_ESP,
            "this boot came from the EFI system partition with the PARTUUID %s, which is none of those in %s; expected "
            "one that proxmox-boot-tool keeps. Look at proxmox-boot-tool status, and run proxmox-boot-tool init for "
            "that partition. Nothing was written." % (booted or "(not known)", LIST))
    if not os.path.ismount(_POINTS + there[0]):
        _leave_namespace(module)
        for uuid in there:
            _mount(module, _DEVICES + uuid, _POINTS + uuid)
    return [_POINTS + uuid for uuid in there]


def _leave_namespace(module):
    """Let what this process mounts be seen by it and its children alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        raise BootloaderError(
            Why.ESP_NOT_MOUNTED,
            "no mount namespace could be made for the EFI system partitions (unshare: %s); run the play as root on the "
            "host itself. Nothing was written." % os.strerror(ctypes.get_errno()))
    _run(module, "/usr/bin/mount", "--make-rprivate", "/")


def _mount(module, device, point):
    # Writable also where it is only read: beside a read-only mount the tool's own mount would fail, and what it writes
    # would not reach this partition. In check mode nothing runs that calls the tool; there it is read-only, unless
    # somebody has it mounted writable already (systemd does, at /efi, where the root file system is on the same disk).
    os.makedirs(point, mode=0o700, exist_ok=True)
    if not module.check_mode or _asked(module, _mount_argv("ro", device, point))[0] != 0:
        _run(module, *_mount_argv("rw", device, point))


def _mount_argv(option, device, point):
    return ["/usr/bin/mount", "-t", "vfat", "-o", option + ",nosuid,nodev,noexec,umask=0077", device, point]


def _asked(module, argv):
    return module.run_command(argv, environ_update={"LC_ALL": "C", "PATH": SYSTEM_PATH})


def _run(module, *argv):
    code, out, err = _asked(module, list(argv))
    if code != 0:
        raise BootloaderError(
            Why.ESP_NOT_MOUNTED,
            "%s failed (exit %d): %s; expected to mount the EFI system partition. Look at proxmox-boot-tool status. "
            "Nothing was written." % (" ".join(argv), code, (err or out).strip() or "no output"))
