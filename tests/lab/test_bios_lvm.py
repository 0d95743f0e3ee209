"""A BIOS box whose root file system, with /boot, is on a logical volume: GRUB cannot forget a trial entry there, and no
firmware boots one once. kexec starts the trial; without kexec-tools it is refused, and nothing is written. Two VMs, one
for each; the tests of the first go in this order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab import grub_cell as cell
from tests.lab.box import Box
from tests.lab.conftest import LayerImage, MakeBox

from lab import recipe

pytestmark = pytest.mark.long
_OURS = "find / -xdev -iname '*tunecheck*' -not -path '/tmp/*' -not -path '*/.ansible/*'"
#: What is staged is there, and forgotten by every reboot.
_SHOW = "cat /run/tunecheck/kexec.json 2>/dev/null; true"
_ARMED = "tunecheck.kexec=1"


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, uefi_image: LayerImage) -> Iterator[Box]:
    """The box with kexec-tools. What update-grub makes of its disks is known to the box alone."""
    box: Any = shared_box(layout="switch", base=uefi_image(recipe.LVM_KEXEC))
    box.ssh("test ! -d /sys/firmware/efi && update-grub && sync", timeout=600)
    box.first = cell.files(box)
    yield box


def assert_well(box: Box) -> None:
    """The root file system was unmounted before this boot, whatever started it, and no kernel waits for the next."""
    assert "unchecked fs" not in box.ssh("dmesg") and "1" not in box.ssh("cat /sys/kernel/kexec_loaded")
    assert _ARMED not in box.ssh(_SHOW)


def test_a_good_trial_commits(lab: Box) -> None:
    text = cell.a_good_trial_commits(lab, cell.spec(), _ARMED, _SHOW)
    assert _ARMED in lab.ssh("cat /proc/cmdline"), "kexec started it"
    assert "this boot was started by kexec" in " ".join(text.split())
    assert "by kexec" in cell.receipt(lab)["history"][-1]["note"]
    assert_well(lab)


def test_a_second_run_changes_nothing(lab: Box) -> None:
    cell.a_second_run_changes_nothing(lab)


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    cell.a_panic_returns_by_itself(lab, cell.spec("rdinit=/nonexistent", "init=/nonexistent"))
    assert _ARMED not in lab.ssh("cat /proc/cmdline"), "the firmware booted it"
    assert_well(lab)


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    cell.rollback_restores_every_boot_file(lab, lab.first)  # type: ignore[attr-defined]
    assert_well(lab)


def test_without_kexec_tools_a_trial_is_refused_before_the_first_write(
    box: MakeBox, uefi_image: LayerImage,
) -> None:  # fmt: skip
    lab = box(layout="switch", base=uefi_image(recipe.LVM))
    lab.ssh("test ! -d /sys/firmware/efi && update-grub && sync", timeout=600)
    before, begun, ours = cell.files(lab), lab.boots(), lab.ssh(_OURS, timeout=600)
    lab.set_spec(cell.spec())
    run = lab.playbook(timeout=cell.SECONDS)
    said = " ".join(run.stdout.split())
    assert run.rc != 0 and lab.boots() == begun, run
    assert "a trial boot is not possible here: /boot/grub is on LVM or device mapper (/dev/mapper/lab-root)," in (
        said), run
    assert "this box did not boot by UEFI" in said and "install kexec-tools" in said, run
    assert "Nothing was written." in said, run
    cell.assert_unchanged(lab, before)
    assert lab.ssh(_OURS, timeout=600) == ours
