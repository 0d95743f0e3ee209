"""The lab box itself: every layout has real ACS on its path ports, and a failed boot keeps its console."""

import shutil

import pytest
from lab.errors import LabError
from lab.machine import Machine
from tests.lab.conftest import MakeBox

from lab import layouts


@pytest.mark.parametrize(("layout", "iommu"), [("direct", "intel"), ("numa", "intel"), ("switch", "amd")])
def test_the_kernel_turns_acs_on_at_every_path_port(layout: str, iommu: str, box: MakeBox) -> None:
    it = box(layout, iommu)
    tree = layouts.LAYOUTS[layout]
    assert it.ssh("lspci -Dnd 1234:1111 | cut -d' ' -f1").split() == list(tree.endpoints)
    for port in tree.ports:
        assert it.ssh(f"setpci -s {port} ECAP_ACS+6.w").strip() == "001d", port
    assert it.ssh("id -un; sudo -n id -un", user="lab").split() == ["lab", "root"]
    assert "password is required" in it.ssh("sudo -n true 2>&1", user="nosudo", check=False)


def test_a_failed_boot_leaves_no_vm_and_shows_the_console(lab_image: object) -> None:
    machine = Machine("tnoboot")
    try:
        machine.up(tie=True)
        with pytest.raises(LabError, match=r"did not answer on ssh within 4 s; its console \(kept in .*console\.log\)"):
            machine.wait(timeout=4)
    finally:
        machine.down()
    assert machine.state() is None
    assert [item.name for item in machine.folder.iterdir()] == ["console.log"]
    shutil.rmtree(machine.folder)
