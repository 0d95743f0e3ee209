"""Reasons against a run, found before its first write: too little room on the file systems it writes to, boards that
the specification is not about, and what a locked down kernel refuses. Read-only. room(), boot_room(), boards() and
register_writes() answer with a Refusal, or "" where nothing speaks against the run."""

from __future__ import annotations

import glob
import os
import re
from enum import Enum

from ansible.module_utils.box_io import read_text
from ansible.module_utils.image_store import existing
from ansible.module_utils.refusal import Refusal

__all__ = ["Obstacle", "accelerators", "boards", "boot_room", "lockdown", "register_writes", "room"]

DEVICES = "/sys/bus/pci/devices"
LOCKDOWN = "/sys/kernel/security/lockdown"
INITRDS = ("/boot/initrd*", "/boot/initramfs*", "/efi/*/*/initrd*", "/boot/efi/*/*/initrd*")
_MIB = 1 << 20
#: MiB that a first run writes: the packed checker is 12 MiB, unpacked and compiled 80, and the old one stays beside it
#: until the new one is whole (2026-11-23). Each file is written beside the old one, too.
NEEDS = (("/opt", 100), ("/var/lib", 32), ("/etc", 2))
FILES = 4000


class Obstacle(Enum):
    """What speaks against a run."""

    READ_ONLY = "read-only"
    NO_ROOM = "no-room"
    NO_INODES = "no-inodes"
    #: No room to make an initramfs again beside the old one.
    NO_ROOM_FOR_INITRAMFS = "no-room-for-initramfs"
    OTHER_BOARDS = "other-boards"
    LOCKDOWN = "lockdown"


def room(needs=NEEDS):
    """Return a Refusal about the first of these folders whose file system has too little room or too few free inodes,
    else ""."""
    wanted = {}
    for folder, mib in needs:
        place = existing(folder)
        device = os.stat(place).st_dev
        folders, sum_ = wanted.get(device, ((), 0))
        wanted[device] = ((*folders, place), sum_ + mib)
    for folders, mib in wanted.values():
        told = os.statvfs(folders[0])
        free, names = told.f_bavail * told.f_frsize // _MIB, ", ".join(sorted(set(folders)))
        if told.f_flag & os.ST_RDONLY:
            return Refusal(
                Obstacle.READ_ONLY,
                "the file system of %s is mounted read-only, and this run has to write there. Look why (dmesg, mount), "
                "mount it writable, and run the play again" % names)
        if free < mib:
            return Refusal(
                Obstacle.NO_ROOM,
                "the file system of %s has %d MiB free; expected at least %d MiB for what this run writes. Make room "
                "(df -h; du -xh --max-depth=2 / | sort -h) and run the play again" % (names, free, mib))
        # Some file systems count no inodes, and say 0 of 0.
        if told.f_files and told.f_favail < FILES:
            return Refusal(
                Obstacle.NO_INODES,
                "the file system of %s has %d inodes free; expected at least %d. Look with df -i, remove what has many "
                "small files, and run the play again" % (names, told.f_favail, FILES))
    return ""


def boot_room(patterns=INITRDS):
    """Return a Refusal where an initramfs cannot be made again, else "". It is written beside the old one, and takes
    as much as the largest one, and a sixth more."""
    found = [path for pattern in patterns for path in glob.glob(pattern) if os.path.isfile(path)]
    if not found:
        return ""
    largest = max(found, key=os.path.getsize)
    need = os.path.getsize(largest) * 7 // 6 // _MIB + 4
    told = os.statvfs(os.path.dirname(largest))
    free = told.f_bavail * told.f_frsize // _MIB
    if free >= need:
        return ""
    return Refusal(
        Obstacle.NO_ROOM_FOR_INITRAMFS,
        "the file system of %s has %d MiB free; expected at least %d MiB, since an initramfs may be made again beside "
        "the old one (%s). Remove kernels that are not used any more (apt autoremove, or dnf remove of old kernels), "
        "and run the play again" % (os.path.dirname(largest), free, need, os.path.basename(largest)))


def accelerators(pci_ids, devices=DEVICES):
    """Return the addresses of the devices with these ids."""
    return [name for name, ids, _kind in _devices(devices) if ids in pci_ids]


def boards(pci_ids, devices=DEVICES):
    """Return a Refusal where the box has NVIDIA GPUs and none is of the specification's kind, else "". The
    specification was then written for another box."""
    found = _devices(devices)
    others = sorted({ids for _name, ids, kind in found if ids.startswith("10de:") and kind in ("0300", "0302")})
    if not pci_ids or not others or any(ids in pci_ids for _name, ids, _kind in found):
        return ""
    return Refusal(
        Obstacle.OTHER_BOARDS,
        "the specification is for GPUs %s, and this box has %s and none of those. Set box_spec.profile or "
        "box_spec.accelerators.pci_ids to what it has (tunecheck init writes an inventory from the box), or look "
        "whether this is the right box" % (" ".join(pci_ids), " ".join(others)))


def lockdown():
    """Return the kernel's lockdown mode: none, integrity or confidentiality; none where it knows no lockdown."""
    return (re.findall(r"\[(\w+)\]", read_text(LOCKDOWN)) or ["none"])[0]


def register_writes(mode):
    """Return a Refusal where the kernel, in this lockdown mode, refuses the registers that box_spec.acs.mechanism:
    setpci would write, else ""."""
    if mode == "none":
        return ""
    return Refusal(
        Obstacle.LOCKDOWN,
        "kernel lockdown (%s) refuses writes to PCI configuration space, so box_spec.acs.mechanism: setpci cannot work "
        "on this box. Expected disable_acs_redir or config_acs: the kernel applies them itself, also under lockdown "
        "(Secure Boot). Set one of them and run the play again" % mode)


def _devices(folder):
    """Return (address, "vendor:device", class) of each PCI device."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [(name, ":".join(_hex(folder, name, leaf) for leaf in ("vendor", "device")),
             _hex(folder, name, "class")[:4]) for name in names]


def _hex(folder, name, leaf):
    return read_text("%s/%s/%s" % (folder, name, leaf)).strip().replace("0x", "", 1)
