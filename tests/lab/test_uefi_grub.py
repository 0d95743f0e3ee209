"""A UEFI box that boots by GRUB, as servers do: the trial is GRUB's one-shot entry there, too. One VM, in this
order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.lab import grub_cell as cell
from tests.lab.box import Box
from tests.lab.conftest import MakeBox

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox) -> Iterator[Box]:
    """The box that this file works on."""
    box = shared_box(layout="switch", firmware="uefi")
    box.first = cell.files(box)  # type: ignore[attr-defined]
    yield box


def test_the_box_is_a_uefi_box(lab: Box) -> None:
    assert lab.ssh("ls /sys/firmware/efi/efivars | grep -c ^Boot0").strip() != "0"
    assert "EFI/BOOT/BOOTX64.EFI" in lab.first  # type: ignore[attr-defined]
    assert cell.acs(lab) == ["001d", "001d"], "the kernel should have turned ACS on"


def test_a_good_trial_commits(lab: Box) -> None:
    cell.a_good_trial_commits(lab, cell.spec())


def test_a_second_run_changes_nothing(lab: Box) -> None:
    cell.a_second_run_changes_nothing(lab)


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    cell.a_panic_returns_by_itself(lab, cell.spec("rdinit=/nonexistent", "init=/nonexistent"))


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    cell.rollback_restores_every_boot_file(lab, lab.first)  # type: ignore[attr-defined]
