"""A lab box whose boot fails leaves its console and nothing else. What the layouts are is tested in test_layouts."""

import shutil

import pytest
from lab.errors import LabError
from lab.machine import Machine


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
