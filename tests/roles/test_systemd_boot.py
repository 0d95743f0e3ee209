"""systemd-boot against a stand-in for bootctl (systemd_boot_box.py); the real one runs in
tests/lab/test_systemd_boot.py."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils import bootloader as loaders
from ansible.module_utils import trial_initrd
from ansible.module_utils.bootloader import BootloaderError, Why, efi, owned, systemd_boot
from ansible.module_utils.box_io import BoxIOError
from ansible.module_utils.tunecheck.parsers.kernel import bls
from tests.roles.systemd_boot_box import ENTRY, LINE, OLDER, RELEASE, Box

TRIAL = ["pci=noacs", "tunecheck.trial=abc", "panic=30"]


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    monkeypatch.setattr(efi, "VARS", f"{tmp_path}/vars/")
    monkeypatch.setattr(systemd_boot, "_LINE", str(tmp_path / "kernel/cmdline"))
    monkeypatch.setattr(systemd_boot, "_MODULES", f"{tmp_path}/modules/")
    monkeypatch.setattr(owned, "OWNED", str(tmp_path / "owned.json"))
    monkeypatch.setattr(trial_initrd, "OWN", str(tmp_path / "boot/tunecheck-trial.img"))
    return Box(tmp_path)


def loader(box: Box) -> Any:
    return systemd_boot.SystemdBoot(box)


def options(path: Path) -> list[str]:
    return bls.options(path.read_text()).split()


def test_what_booted_the_box_is_driven_and_not_a_leftover_grub(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("GrubDebian", "SystemdBoot"):
        monkeypatch.setattr(getattr(loaders, kind), "absent", classmethod(lambda _cls: None))
    assert isinstance(loaders.detect(box), loaders.SystemdBoot)
    monkeypatch.setattr(loaders.SystemdBoot, "absent", classmethod(lambda _cls: "no /usr/bin/bootctl"))
    with pytest.raises(BootloaderError, match="no /usr/bin/bootctl") as caught:
        loaders.detect(box)
    assert caught.value.why is Why.NO_LOADER
    box.set("LoaderInfo", "GRUB 2.12".encode("utf-16-le"))
    assert isinstance(loaders.detect(box), loaders.GrubDebian)


def test_staged_and_given_up_touch_the_trial_alone(box: Box) -> None:
    before = box.state()
    loader(box).stage([], TRIAL)
    staged = loader(box).staged()
    assert staged.armed and staged.tokens[-3:] == TRIAL
    assert options(box.entries / "tunecheck-trial.conf")[:3] == ["root=UUID=1", "ro", "console=ttyS0"]
    # Its own entry is what bootctl calls the default then.
    assert loader(box).generated() == options(box.default) and loader(box).kernel() == f"/1ab0/{RELEASE}/linux"
    assert {path: text for path, text in box.state().items() if path in before} == before
    loader(box).give_up()
    assert box.state() == before and loader(box).staged() is None


def test_an_initramfs_of_its_own_lies_beside_the_default_one(box: Box) -> None:
    image, own = str(box.boot / f"initrd.img-{RELEASE}"), trial_initrd.OWN
    Path(own).write_text("initramfs with options")
    before, names = box.state(), loader(box).own_initrd(image, own)
    assert names == (f"/1ab0/{RELEASE}/initrd.img-{RELEASE}", f"/1ab0/{RELEASE}/tunecheck-trial.img")
    loader(box).stage([], TRIAL, names)
    copy = box.esp / f"1ab0/{RELEASE}/tunecheck-trial.img"
    assert bls.initrds((box.entries / "tunecheck-trial.conf").read_text()) == [names[1]]
    assert copy.read_text() == "initramfs with options" and loader(box).staged().armed
    copy.unlink()
    assert not loader(box).staged().armed, "staged again"
    loader(box).stage([], TRIAL, names)
    (copy.parent / ".tunecheck-x1y2").write_text("half an ini")
    loader(box).give_up()
    assert box.state() == before
    loader(box).stage([], TRIAL, names)
    loader(box).promote(image, own)
    assert (box.esp / f"1ab0/{RELEASE}/initrd.img-{RELEASE}").read_text() == "initramfs with options"
    assert not copy.exists()
    loader(box).promote(image, own)     # taken up again after an interruption


def test_an_initramfs_that_is_not_the_staged_one_is_not_committed(box: Box) -> None:
    image, own = str(box.boot / f"initrd.img-{RELEASE}"), trial_initrd.OWN
    Path(own).write_text("initramfs with options")
    loader(box).stage([], TRIAL, loader(box).own_initrd(image, own))
    (box.esp / f"1ab0/{RELEASE}/tunecheck-trial.img").write_text("another")
    with pytest.raises(BootloaderError, match=r"/tunecheck-trial\.img\b") as caught:
        loader(box).promote(image, own)
    assert caught.value.why is Why.NOT_STAGED
    assert (box.esp / f"1ab0/{RELEASE}/initrd.img-{RELEASE}").read_text() == f"initrd.img-{RELEASE} as installed"


def test_commit_and_rollback_byte_for_byte(box: Box) -> None:
    """Also the entry of the older kernel, and not an entry that kernel-install did not make."""
    older = box.entry(OLDER)
    other = box.entries / "arch.conf"
    other.write_text("title Arch\nlinux /vmlinuz-linux\noptions root=UUID=2\n")
    before = box.state()
    loader(box).stage([], TRIAL)
    loader(box).commit(["pci=noacs", "iommu=pt"], [])
    for path in (box.default, older):
        assert options(path)[-2:] == ["pci=noacs", "iommu=pt"], path
    assert box.line.read_text() == LINE + " pci=noacs iommu=pt\n"
    assert other.read_text() == before[str(other)] and loader(box).staged() is None
    loader(box).commit(["iommu=pt"], ["pci=noacs"])
    assert options(box.default)[-2:] == ["systemd.machine_id=1ab0", "iommu=pt"]
    loader(box).remove()
    assert box.state() == before and loader(box).configured() == []


def test_a_line_that_was_not_there_is_made_without_the_trials_marks_and_goes(box: Box) -> None:
    """kernel-install would take the running kernel's line, and that may be a trial's."""
    box.line.unlink()
    before = box.state()
    loader(box).commit(["pci=noacs"], [])
    assert box.line.read_text().split() == options(box.default)
    loader(box).commit(["iommu=pt"], ["pci=noacs"])
    loader(box).remove()
    assert box.state() == before
    loader(box).commit(["pci=noacs"], [])
    box.line.write_text(box.line.read_text().replace("ro ", "rw "))
    loader(box).remove()
    assert box.line.read_text() == "root=UUID=1 rw console=ttyS0 systemd.machine_id=1ab0\n", "somebody else's by now"


def test_a_commit_that_ends_at_any_write_leaves_a_whole_entry_and_is_taken_up(
        box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.entry(OLDER)
    old, real = box.default.read_text(), os.rename
    new = old.replace("systemd.machine_id=1ab0\n", "systemd.machine_id=1ab0 pci=noacs\n")
    left = -1       # of the writes, -1: all

    def rename(source: str, target: str) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    seen = []
    for writes in range(20):
        left = -1
        loader(box).remove()
        assert box.default.read_text() == old
        loader(box).stage([], TRIAL)
        left = writes
        try:
            loader(box).commit(["pci=noacs"], [])
            break
        except KeyboardInterrupt:
            seen.append(box.default.read_text())
        left = -1
        loader(box).commit(["pci=noacs"], [])
        assert box.default.read_text() == new
    assert len(seen) == 5 and set(seen) == {old, new}, "own list, line, older entry, default entry, own list"
    assert seen[-1] == new and seen[-2] == old, "the default entry last"


def test_a_commit_that_finds_the_disk_full_leaves_the_line_of_the_next_kernel_too(
        box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next kernel-install would make the default what was never committed."""
    loader(box).stage([], TRIAL)
    before, real = box.state(), tempfile.mkstemp

    def full(dir: str, **options: Any) -> tuple[int, str]:
        if Path(dir) == box.entries:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(dir=dir, **options)

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(BoxIOError, match="No space left on device"):
        loader(box).commit(["pci=noacs"], [])
    assert {path: text for path, text in before.items() if path in box.state()} == box.state()
    assert box.line.read_text() == LINE + "\n" and box.default.read_text() == ENTRY.format(RELEASE)


@pytest.mark.parametrize(("change", "why", "names"), [
    ("features", Why.NO_ONE_SHOT, "LoaderFeatures"), ("key", Why.TRIAL_IS_DEFAULT, f"set-default 1ab0-{RELEASE}.conf"),
    ("read-only", Why.ENTRIES_READ_ONLY, "/efi"), ("full", Why.NO_ROOM, r"/efi .*\b0 KiB\b.*\b128 KiB\b"),
    ("image", Why.NO_ROOM, r"/efi .*\b8192 KiB\b.*\b9344 KiB\b"),
])
def test_where_a_trial_is_refused(box: Box, monkeypatch: pytest.MonkeyPatch, change: str, why: Why, names: str) -> None:
    image = box.boot / "image"
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    assert loader(box).trial_refusal() is None
    free = {"full": 0, "image": 8 << 20}.get(change, 1 << 30)
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(
        f_bavail=free // 512, f_frsize=512, f_flag=os.ST_RDONLY if change == "read-only" else 0))
    if change == "features":
        box.set("LoaderFeatures", b"\x07\0\0\0\0\0\0\0")
    elif change == "key":
        box.default.write_text(ENTRY.format(RELEASE).replace("sort-key   debian\n", ""))
        (box.esp / "loader/loader.conf").write_text(f"timeout 3\ndefault 1AB0-{RELEASE[:4]}*\n")
        assert loader(box).trial_refusal() is None, "named by loader.conf"
        (box.esp / "loader/loader.conf").write_text("timeout 3\n")
    if change in ("full", "image"):
        with pytest.raises(BootloaderError, match=names) as caught:
            loader(box).trial_refusal(str(image) if change == "image" else "")
        assert caught.value.why is why
    else:
        found = loader(box).trial_refusal()
        assert found.why is why and names in found


def test_a_trial_that_would_be_the_default_is_not_armed(box: Box) -> None:
    """Without a sort key its name is the first of all; the role refuses that before, and looks once more here."""
    box.default.write_text(ENTRY.format(RELEASE).replace("sort-key   debian\n", ""))
    before = box.state()
    with pytest.raises(BootloaderError, match=rf"set-default 1ab0-{re.escape(RELEASE)}\.conf") as caught:
        loader(box).stage([], TRIAL)
    assert caught.value.why is Why.TRIAL_IS_DEFAULT
    assert box.state() == before


@pytest.mark.parametrize(("name", "value", "chosen"), [
    ("LoaderEntryDefault", f"1ab0-{OLDER}.conf", OLDER), ("LoaderEntryDefault", "@saved", OLDER),
    ("loader.conf", "1ab0-6.12.100*", OLDER), ("loader.conf", "gone.conf", RELEASE), ("", "", RELEASE),
])
def test_the_default_entry_is_the_one_that_systemd_boot_takes(box: Box, name: str, value: str, chosen: str) -> None:
    box.entry(OLDER)
    box.set("LoaderEntryLastBooted", f"1ab0-{OLDER}.conf".encode("utf-16-le"))
    if name == "loader.conf":
        (box.esp / "loader/loader.conf").write_text(f"default {value}\n")
    elif name:
        box.set(name, value.encode("utf-16-le"))
    assert loader(box).kernel() == f"/1ab0/{chosen}/linux"
    loader(box).stage([], TRIAL)
    assert loader(box).kernel() == f"/1ab0/{chosen}/linux"


def test_a_unified_kernel_image_is_refused(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = json.dumps([{"type": "type2", "id": "debian-6.12.efi", "path": f"{box.esp}/EFI/Linux/debian-6.12.efi"}])
    monkeypatch.setattr(box, "run_command", lambda argv, **_: (0, listed if argv[1] == "list" else f"{box.esp}\n", ""))
    with pytest.raises(BootloaderError, match=r"\bdebian-6\.12\.efi, of type2\b") as caught:
        loader(box).generated()
    assert caught.value.why is Why.OTHER_KIND


def test_firmware_that_does_not_keep_the_one_shot_leaves_the_default(box: Box) -> None:
    before = box.state()
    box.fails = "set-oneshot"
    with pytest.raises(BootloaderError, match=r"\bset-oneshot\b.*No space left on device") as caught:
        loader(box).stage([], TRIAL)
    assert caught.value.why is Why.COMMAND_FAILED
    assert loader(box).staged().armed is False
    assert {path: text for path, text in box.state().items() if path in before} == before
