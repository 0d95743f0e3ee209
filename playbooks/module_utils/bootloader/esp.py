"""The EFI system partition: where it is, what it is on, and how a trial's files get there."""

from __future__ import annotations

import contextlib
import os

from ansible.module_utils.box_io import read_text

from .base import SYSTEM_PATH, BootloaderError, block_kind
from .why import Why

__all__ = ["POINTS", "Esp", "find"]

#: Where Debian, Ubuntu and Enterprise Linux mount it, and where systemd does.
POINTS = ("/boot/efi", "/efi")
_FSTAB = "/etc/fstab"
_MOUNTINFO = "/proc/self/mountinfo"
_BLOCKS = "/sys/dev/block/"
#: For the time of a write, where it is not mounted.
_OWN_POINT = "/run/tunecheck/esp"
_FAT = ("vfat", "msdos")


class Esp:
    """The EFI system partition. ``device``: what to mount; ``number``: "major:minor"; ``point``: where it is mounted,
    "" where it is only in fstab."""

    def __init__(self, module, device, number, point="", read_only=False):
        self.module = module
        self.device = device
        self.number = number
        self.point = point
        self.read_only = read_only

    def disk(self):
        """Return (its disk, its number on it) as efibootmgr wants them. BootloaderError where it is no partition of a
        disk."""
        kind = block_kind(self.number)
        about = os.path.realpath(_BLOCKS + self.number)
        number = read_text(os.path.join(about, "partition")).strip()
        if kind != "disk" or not number.isdigit():
            layer = {"lvm": "LVM or device mapper", "md": "mdraid"}.get(kind, "no partition")
            raise BootloaderError(
                Why.ESP_NO_PARTITION,
                "the EFI system partition %s is on %s, which a boot entry of the firmware cannot "
                "name; expected a partition of a disk" % (self.device, layer))
        return "/dev/" + os.path.basename(os.path.dirname(about)).replace("!", "/"), int(number)

    @contextlib.contextmanager
    def mounted(self, write=False):
        """Give the folder at which it is mounted. Where nobody mounted it, it is mounted for this time alone."""
        if self.point:
            yield self.point
            return
        if os.path.ismount(_OWN_POINT):     # of a run that was killed
            self._run("/usr/bin/umount", _OWN_POINT)
        os.makedirs(_OWN_POINT, mode=0o700, exist_ok=True)
        options = ("rw" if write else "ro") + ",nosuid,nodev,noexec,umask=0077"
        self._run("/usr/bin/mount", "-t", "vfat", "-o", options, self.device, _OWN_POINT)
        try:
            yield _OWN_POINT
        finally:
            self._run("/usr/bin/umount", _OWN_POINT)

    def _run(self, *argv):
        code, out, err = self.module.run_command(list(argv), environ_update={"LC_ALL": "C", "PATH": SYSTEM_PATH})
        if code != 0:
            raise BootloaderError(
                Why.ESP_NOT_MOUNTED,
                "%s failed (exit %d): %s; expected to mount the EFI system partition. Mount it where "
                "/etc/fstab has it, and run the play again"
                % (" ".join(argv), code, (err or out).strip() or "no output"))


def find(module):
    """Return the Esp. BootloaderError where it is neither mounted nor in fstab."""
    for point in POINTS:
        with contextlib.suppress(OSError):
            os.listdir(point)       # an automount mounts it now
        found = None
        for line in read_text(_MOUNTINFO).splitlines():
            left, _, right = line.partition(" - ")
            fields, tail = left.split(), right.split()
            if len(fields) > 5 and len(tail) > 2 and fields[4] == point and tail[0] in _FAT:
                read_only = "ro" in fields[5].split(",") or "ro" in tail[2].split(",")
                found = Esp(module, tail[1], fields[2], point, read_only)
        if found:
            return found
    for line in read_text(_FSTAB).splitlines():
        fields = line.split()
        if len(fields) > 2 and fields[1] in POINTS and fields[2] in (*_FAT, "auto"):
            return _of_fstab(module, fields[0])
    raise BootloaderError(Why.NO_ESP, "no EFI system partition is mounted at %s or has a line in %s; mount it"
                          % (" or ".join(POINTS), _FSTAB))


def _of_fstab(module, source):
    device = source
    if "=" in source:
        code, out, _err = module.run_command(["/usr/sbin/findfs", source.replace('"', "")],
                                             environ_update={"LC_ALL": "C"})
        device = out.strip() if code == 0 else ""
    try:
        about = os.stat(device)
    except OSError as error:
        raise BootloaderError(
            Why.ESP_NO_DEVICE,
            "%s names %s as the EFI system partition, and there is no such device; correct that line"
            % (_FSTAB, source)) from error
    return Esp(module, os.path.realpath(device), "%d:%d" % (os.major(about.st_rdev), os.minor(about.st_rdev)))
