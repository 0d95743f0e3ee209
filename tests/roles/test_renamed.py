"""What is put in the place of another file by a rename is written behind its new name before anything else: on FAT,
as an EFI system partition is, it would be empty after a power cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible.module_utils import box_io
from ansible.module_utils.bootloader import boot_files

WRITES: dict[str, Callable[[Path, Path], None]] = {
    "write_text": lambda made, path: box_io.write_text(str(path), "new"),
    "rename_over": lambda made, path: box_io.rename_over(str(made), str(path)),
    "copy_over": lambda made, path: box_io.copy_over(str(made), str(path)),
    "a copy for the firmware": lambda made, path: boot_files.copy([str(made)], str(path)),
}


@pytest.mark.parametrize("how", WRITES)
def test_a_renamed_file_is_written_behind_its_new_name(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    made, path = tmp_path / "made", tmp_path / "loader/entry.conf"
    made.write_text("new")
    path.parent.mkdir()
    path.write_text("old")
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(fd: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        fsync(fd)

    def noted_rename(one: str, other: str) -> None:
        done.append("rename")
        rename(one, other)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    WRITES[how](made, path)
    assert path.read_text() == "new"
    assert done[done.index("rename") :] == ["rename", str(path), str(path.parent)]


@pytest.mark.parametrize("there", ["nothing", "a folder", "another link"])
def test_a_link_is_on_the_disk_when_it_is_said_to_be(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "some.target.wants/some.service"
    if there != "nothing":
        path.parent.mkdir()
    if there == "another link":
        path.symlink_to("other.service")
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    box_io.link("some.service", str(path))
    assert str(path.readlink()) == "some.service"
    assert synced == [str(path.parent), *([str(tmp_path)] if there == "nothing" else [])]
    assert [each.name for each in path.parent.iterdir()] == ["some.service"]
