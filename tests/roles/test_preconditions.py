"""What speaks against a run before its first write, on real file systems of this machine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible.module_utils import preconditions
from ansible.module_utils.preconditions import Obstacle

_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs: needs root")


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True, timeout=30)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=30)


@pytest.mark.parametrize(("text", "mode", "refused"), [
    ("none [integrity] confidentiality\n", "integrity", True), ("[none] integrity confidentiality\n", "none", False),
    ("", "none", False),
])
def test_what_a_locked_down_kernel_refuses_is_said_with_what_works_there(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, mode: str, refused: bool) -> None:
    (tmp_path / "lockdown").write_text(text)
    monkeypatch.setattr(preconditions, "LOCKDOWN", str(tmp_path / "lockdown"))
    assert preconditions.lockdown() == mode
    said = preconditions.register_writes(mode)
    if refused:
        assert said.why is Obstacle.LOCKDOWN and f"({mode})" in said and " disable_acs_redir " in said
    else:
        assert said == ""


def test_a_box_with_room_is_not_refused(tmp_path: Path) -> None:
    assert preconditions.room(((str(tmp_path), 1), ("/nowhere/at/all", 1))) == ""


@_ROOT
@pytest.mark.parametrize(("options", "why", "names"), [
    ("size=5m", Obstacle.NO_ROOM, r"\b5 MiB\b.*\b8 MiB\b"),
    ("size=20m,nr_inodes=100", Obstacle.NO_INODES, r"\b4000\b"),
    ("size=20m,ro", Obstacle.READ_ONLY, ""),
    ("size=20m", None, ""),
])
def test_a_file_system_without_room_is_said(tmp_path: Path, options: str, why: Obstacle | None, names: str) -> None:
    with mounted(tmp_path / "small", options) as small:
        # Two folders on one file system need the sum of both; one that is not there yet is its parent's.
        said = preconditions.room(((str(small), 4), (f"{small}/not/yet", 4)))
        if why is None:
            assert said == ""
            return
        assert said.why is why and re.search(names, said) and str(small) in said


@_ROOT
def test_another_initramfs_needs_room_beside_the_old_one(tmp_path: Path) -> None:
    with mounted(tmp_path / "boot", "size=20m") as boot:
        pattern = (f"{boot}/initrd*",)
        assert preconditions.boot_room(pattern) == "", "none is there, so none is made again"
        (boot / "initrd.img-6.1.0-1").write_bytes(bytes(3 << 20))
        assert preconditions.boot_room(pattern) == ""
        (boot / "initrd.img-6.1.0-2").write_bytes(bytes(11 << 20))
        said = preconditions.boot_room(pattern)
        assert said.why is Obstacle.NO_ROOM_FOR_INITRAMFS
        assert re.search(rf"{boot}\b.*\b6 MiB\b.*\b16 MiB\b.*\(initrd\.img-6\.1\.0-2\)", said)


@pytest.mark.parametrize(("devices", "pci_ids", "others"), [
    ({"0000:03:00.0": ("10de", "2b85", "030000")}, ["10de:2bb1"], "10de:2b85"),
    ({"0000:03:00.0": ("10de", "2bb1", "030200")}, ["10de:2bb1"], ""),
    # Another GPU beside the right ones, NVIDIA's sound function, somebody else's GPU, none at all: not another box.
    ({"0000:03:00.0": ("10de", "2bb1", "030200"), "0000:04:00.0": ("10de", "1eb8", "030200")}, ["10de:2bb1"], ""),
    ({"0000:03:00.1": ("10de", "22e8", "040300"), "0000:05:00.0": ("1002", "744c", "030000")}, ["10de:2bb1"], ""),
    ({}, ["10de:2bb1"], ""),
    ({"0000:03:00.0": ("10de", "2b85", "030000")}, [], ""),
])
def test_a_specification_for_other_boards_is_said(
        tmp_path: Path, devices: dict[str, tuple[str, str, str]], pci_ids: list[str], others: str) -> None:
    for name, values in devices.items():
        (tmp_path / name).mkdir()
        for leaf, value in zip(("vendor", "device", "class"), values, strict=True):
            (tmp_path / name / leaf).write_text(f"0x{value}\n")
    said = preconditions.boards(pci_ids, str(tmp_path))
    if others:
        assert said.why is Obstacle.OTHER_BOARDS and re.search(rf"\b{pci_ids[0]}\b.*\b{others}\b", said)
    else:
        assert said == ""
    assert preconditions.accelerators(pci_ids, str(tmp_path)) == [
        name for name, values in devices.items() if ":".join(values[:2]) in pci_ids]
