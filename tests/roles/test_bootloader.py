"""Where a trial boot must be refused: GRUB cannot write grubenv there."""

from __future__ import annotations

import pytest
from ansible.module_utils.bootloader import Why, base

ROOT_EXT4 = "21 1 254:3 / / rw,noatime shared:1 - ext4 /dev/vda3 rw\n"


def kinds(number: str) -> str:
    return {"253:0": "lvm", "9:0": "md"}.get(number, "disk")


@pytest.mark.parametrize(
    ("mountinfo", "problem"),
    [
        (ROOT_EXT4, None),
        (ROOT_EXT4 + "30 21 254:1 / /boot rw - xfs /dev/vda1 rw\n", None),
        (ROOT_EXT4 + "30 21 0:30 / /boot rw - btrfs /dev/vda1 rw\n", "btrfs"),
        (ROOT_EXT4 + "30 21 0:31 / /boot rw - zfs bpool/BOOT rw\n", "zfs"),
        ("21 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n", "LVM"),
        ("21 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n30 21 254:1 / /boot rw - ext4 /dev/vda1 rw\n", None),
        ("21 1 254:3 / / rw - ext4 /dev/vda3 rw\n30 21 9:0 / /boot rw - ext4 /dev/md0 rw\n", "mdraid"),
        ("21 1 254:3 / / rw - ext4 /dev/vda3 rw\n30 21 9:0 / /bootstrap rw - ext4 /dev/md0 rw\n", None),
        ("", "/proc/self/mountinfo"),
    ],
)
def test_mount_problem(mountinfo: str, problem: str | None) -> None:
    found = base.mount_problem("/boot/grub", mountinfo, kinds)
    assert (found is None) if problem is None else (found.why is Why.GRUB_CANNOT_WRITE and problem in found)
