"""The usual failures of the commands that --from asks for, pasted in place of their output."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.samples import lab
from tests.unit.refusing import refused

from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage


@pytest.mark.parametrize(("text", "command"), [
    ("dmesg: read kernel buffer failed: Operation not permitted\n", "sudo dmesg"),
    ("$ dmesg\ndmesg: klogctl: Operation not permitted\n", "sudo dmesg"),
    ("No journal files were opened due to insufficient permissions.\n", "sudo journalctl"),
    ("pcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n", "sudo lspci -nnvvv"),
    ("$ sudo lspci -nnvvv\npcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n",
     "sudo lspci -nnvvv"),
    ("sudo: lspci: command not found\n", "apt install pciutils"),
    ("bash: lspci: command not found\n", "apt install pciutils"),
    ("-bash: line 1: lspci: command not found\n", "apt install pciutils"),
    ("sh: 1: lspci: not found\n", "apt install pciutils"),
    ("zsh: command not found: lspci\n", "apt install pciutils"),
    ("Command 'lspci' not found, but can be installed with:\napt install pciutils\n", "apt install pciutils"),
    ("bash: numactl: command not found\n", "apt install numactl"),
    ("bash: dmesg: command not found\n", "sudo dmesg"),
    ("sudo: a password is required\n", "refusal of sudo"),
])
def test_a_failure_is_named_with_the_command_that_works(tmp_path: Path, text: str, command: str) -> None:
    file = tmp_path / "post.txt"
    file.write_text(text)
    with refused(Damage.TOO_LITTLE, "post.txt", command):
        load_import(str(file))


def test_beside_a_usable_text_it_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(lab("acs-iommu"))
    (tmp_path / "dmesg.txt").write_text("dmesg: read kernel buffer failed: Operation not permitted\n")
    said = load_import(str(tmp_path)).summary()
    assert "dmesg.txt also holds the refusal of dmesg without root; run: sudo dmesg" in said
