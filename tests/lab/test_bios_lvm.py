"""A BIOS box whose root file system, with /boot, is on a logical volume: GRUB cannot forget a trial entry there, and no
firmware boots one once. Nothing is written."""

from __future__ import annotations

import pytest
from tests.lab import grub_cell as cell
from tests.lab.conftest import LayerImage, MakeBox

from lab import recipe

pytestmark = pytest.mark.long
_OURS = "find / -xdev -iname '*tunecheck*' -not -path '/tmp/*' -not -path '*/.ansible/*'"


def test_a_trial_is_refused_before_the_first_write(box: MakeBox, uefi_image: LayerImage) -> None:
    lab = box(layout="switch", base=uefi_image(recipe.LVM))
    lab.ssh("test ! -d /sys/firmware/efi && update-grub && sync", timeout=600)
    before, begun, ours = cell.files(lab), cell.boots(lab), lab.ssh(_OURS, timeout=600)
    lab.set_spec(cell.spec())
    run = lab.playbook(timeout=cell.SECONDS)
    said = " ".join(run.stdout.split())
    assert run.rc != 0 and cell.boots(lab) == begun, run
    assert "a trial boot is not possible here: /boot/grub is on LVM or device mapper (/dev/mapper/lab-root)," in (
        said), run
    assert "this box did not boot by UEFI" in said and "Nothing was written." in said, run
    cell.assert_unchanged(lab, before)
    assert lab.ssh(_OURS, timeout=600) == ours
