"""A UEFI box whose root file system, with /boot, is where GRUB reads and cannot write: it cannot forget a trial entry
there, so the firmware boots the trial, once, by BootNext. One VM for each such place, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab import grub_cell as cell
from tests.lab.boot_files import with_esp
from tests.lab.box import Box
from tests.lab.conftest import LayerImage, MakeBox

from lab import recipe

_TYPE = "lsblk -n -d -o TYPE $(findmnt -n -o SOURCE -T /boot/grub)"
#: Layer -> (what asks the box where /boot/grub is and whether that is well, the answer).
PLACES = {
    recipe.BTRFS: ("findmnt -n -o FSTYPE -T /boot/grub", "btrfs"),
    recipe.LVM: (f"{_TYPE} && vgck lab", "lvm"),
    recipe.MDRAID: (f"{_TYPE} && mdadm --detail --test /dev/md0 >/dev/null", "raid1"),
}
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=PLACES, ids=lambda layer: layer.name)
def lab(request: pytest.FixtureRequest, shared_box: MakeBox, uefi_image: LayerImage) -> Iterator[Box]:
    """The box that these tests work on. What update-grub makes of its disks is known to the box alone."""
    box: Any = shared_box(layout="switch", firmware="uefi", base=uefi_image(request.param))
    box.ssh("update-grub && sync", timeout=600)
    box.place = PLACES[request.param]
    box.first = cell.files(box)
    yield box


def assert_place(box: Any) -> None:
    """The root file system is where it should be, and what that stands on is well."""
    ask, answer = box.place
    assert box.ssh(ask).strip() == answer


def traces(box: Box) -> str:
    """What a trial by the firmware leaves: its entry, BootNext, its files."""
    lines = box.ssh(with_esp(f"{cell.SHOW_BOOT_NEXT}; ls /boot/efi/EFI")).splitlines()
    return "\n".join(line for line in lines if "tunecheck" in line or line.startswith(cell.BOOT_NEXT_ARMED))


def test_grub_cannot_write_here(lab: Box) -> None:
    assert_place(lab)
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
    assert_place(lab)


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    cell.rollback_restores_every_boot_file(lab, lab.first)  # type: ignore[attr-defined]
    assert traces(lab) == ""
