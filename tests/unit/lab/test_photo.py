"""Photos of a machine: a real QEMU, without a processor, stands still while its files are copied, and goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.box import until

from lab import photo, qmp, uefi


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a machine that runs."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("no qemu-system-x86_64 here; apt-get install qemu-system-x86")
    (tmp_path / photo.DISK).write_bytes(b"as it was")
    (tmp_path / uefi.OWN_VARIABLES).write_bytes(b"BootOrder")
    child = subprocess.Popen(["qemu-system-x86_64", "-M", "none", "-display", "none", "-nodefaults",
                              "-qmp", f"unix:{qmp.SOCKET},server=on,wait=off"], cwd=tmp_path)
    try:
        until(lambda: (tmp_path / qmp.SOCKET).exists(), "QEMU never opened its socket", seconds=60)
        yield tmp_path
    finally:
        child.kill()
        child.wait()


def runs(folder: Path) -> bool:
    return bool(qmp.ask(folder, "query-status")["running"])


def test_a_photo_is_what_stood_there_and_can_be_put_back_again_and_again(folder: Path) -> None:
    photo.take(folder, "one")
    assert runs(folder)
    for _ in range(2):
        (folder / photo.DISK).write_bytes(b"changed")
        (folder / uefi.OWN_VARIABLES).write_bytes(b"BootNext")
        photo.put_back(folder, "one")
        assert (folder / photo.DISK).read_bytes() == b"as it was"
        assert (folder / uefi.OWN_VARIABLES).read_bytes() == b"BootOrder"
    photo.drop(folder, "one")
    assert {each.name for each in folder.iterdir()} == {photo.DISK, uefi.OWN_VARIABLES, qmp.SOCKET}


def test_the_machine_stands_still_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stood = []
    monkeypatch.setattr(photo.shutil, "copyfile", lambda *_: stood.append(not runs(folder)))
    photo.take(folder, "one")
    assert stood == [True, True] and runs(folder)


def test_it_goes_on_where_the_copy_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(photo.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        photo.take(folder, "one")
    assert runs(folder)


def test_a_photo_that_was_never_taken_is_no_start(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        photo.put_back(folder, "none")
