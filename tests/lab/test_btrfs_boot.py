"""A UEFI box whose root file system, with /boot, is btrfs: GRUB cannot forget a trial entry there, so the firmware
boots the trial, once, by BootNext. One VM, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab import grub_cell as cell
from tests.lab.box import Box
from tests.lab.conftest import MakeBox

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, btrfs_image: Path) -> Iterator[Box]:
    """The box that this file works on. What update-grub makes of its disks is known to the box alone."""
    box = shared_box(layout="switch", firmware="uefi", base=btrfs_image)
    box.ssh("update-grub && sync", timeout=600)
    box.first = cell.files(box)  # type: ignore[attr-defined]
    yield box


def traces(box: Box) -> str:
    """What a trial by the firmware leaves: its entry, BootNext, its files."""
    lines = box.ssh(cell.with_esp(f"{cell.SHOW_BOOT_NEXT}; ls /boot/efi/EFI")).splitlines()
    return "\n".join(line for line in lines if "tunecheck" in line or line.startswith(cell.BOOT_NEXT_ARMED))


def test_grub_cannot_write_here(lab: Box) -> None:
    assert lab.ssh("stat -f -c %T /boot/grub").strip() == "btrfs"
    assert cell.acs(lab) == ["001d", "001d"], "the kernel should have turned ACS on"
    assert traces(lab) == ""


def test_a_good_trial_commits(lab: Box) -> None:
    cell.a_good_trial_commits(lab, cell.spec(), cell.BOOT_NEXT_ARMED, cell.SHOW_BOOT_NEXT)
    assert "initrd=\\EFI\\tunecheck\\initrd.img" in lab.ssh("cat /proc/cmdline"), "the firmware booted it"
    assert traces(lab) == ""


def test_a_second_run_changes_nothing(lab: Box) -> None:
    cell.a_second_run_changes_nothing(lab)


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    cell.a_panic_returns_by_itself(lab, cell.spec("rdinit=/nonexistent", "init=/nonexistent"))
    assert traces(lab) == ""


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    cell.rollback_restores_every_boot_file(lab, lab.first)  # type: ignore[attr-defined]
    assert traces(lab) == ""
