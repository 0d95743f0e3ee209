"""module_utils/initramfs.py: which program makes a box's initramfs, and which file that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.module_utils import initramfs, trial_initrd
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

RELEASE = "6.12.1-amd64"
#: What is on the box -> the initramfs, the program that makes another one, the one that lists it.
BOXES = {
    "Debian": (("sbin/update-initramfs", "sbin/mkinitramfs", f"boot/initrd.img-{RELEASE}"),
               f"boot/initrd.img-{RELEASE}", "mkinitramfs", "lsinitramfs"),
    # As apt leaves it on Debian 13: initramfs-tools-core stays.
    "Debian with dracut": (("bin/dracut", "sbin/mkinitramfs", f"boot/initrd.img-{RELEASE}"),
                           f"boot/initrd.img-{RELEASE}", "dracut", "lsinitrd"),
    "dracut with an update-initramfs of its own": (
        ("bin/dracut", "sbin/update-initramfs: exec dracut --force", f"boot/initrd.img-{RELEASE}"),
        f"boot/initrd.img-{RELEASE}", "dracut", "lsinitrd"),
    "Debian with dracut-core beside initramfs-tools": (
        ("bin/dracut", "sbin/update-initramfs", f"boot/initrd.img-{RELEASE}"),
        f"boot/initrd.img-{RELEASE}", "mkinitramfs", "lsinitramfs"),
    "Fedora": (("bin/dracut", f"boot/initramfs-{RELEASE}.img"), f"boot/initramfs-{RELEASE}.img", "dracut", "lsinitrd"),
    "Fedora before its first initramfs": (("bin/dracut",), f"boot/initramfs-{RELEASE}.img", "dracut", "lsinitrd"),
}


def _has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        path, _, text = name.partition(": ")
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
    monkeypatch.setattr(initramfs, "DRACUT", str(tmp_path / "bin/dracut"))
    monkeypatch.setattr(initramfs, "_UPDATE", str(tmp_path / "sbin/update-initramfs"))
    monkeypatch.setattr(initramfs, "_BOOT", f"{tmp_path}/boot/")
    monkeypatch.setattr(initramfs, "DROPIN", str(tmp_path / "dracut.conf.d/zz-tunecheck.conf"))
    monkeypatch.setattr(modprobe, "CONF", str(tmp_path / "modprobe.d/zz-tunecheck.conf"))
    monkeypatch.setattr(modprobe, "NOUVEAU_CONF", str(tmp_path / "modprobe.d/zz-tunecheck-nouveau.conf"))


@pytest.mark.parametrize("box", BOXES)
def test_image_and_programs_are_those_of_the_box(box: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has, image, maker, lister = BOXES[box]
    _has(tmp_path, monkeypatch, *has)
    tools = initramfs.tools(RELEASE)
    assert tools.image == str(tmp_path / image)
    assert tools.make("/boot/other.img", RELEASE)[0].endswith(maker) and "/boot/other.img" in tools.make(
        "/boot/other.img", RELEASE)
    assert tools.lister == lister


def test_dracut_makes_the_file_again_that_the_box_boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _has(tmp_path, monkeypatch, "bin/dracut", f"boot/initrd.img-{RELEASE}")
    assert initramfs.tools(RELEASE).rebuild == [
        initramfs.DRACUT, "--force", "--install-optional", f"{modprobe.CONF} {modprobe.NOUVEAU_CONF}",
        f"{tmp_path}/boot/initrd.img-{RELEASE}", RELEASE]


def test_a_box_without_either_has_no_initramfs_to_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _has(tmp_path, monkeypatch)
    assert initramfs.tools(RELEASE) is None


def test_dracut_takes_our_options_as_long_as_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _has(tmp_path, monkeypatch, "bin/dracut")
    for folder in ("modprobe.d", "dracut.conf.d"):
        (tmp_path / folder).mkdir()
    dropin = Path(initramfs.DROPIN)
    trial_initrd.commit_options("options virtio_blk queue_depth=64\n")
    assert dropin.read_text() == f'install_optional_items+=" {modprobe.CONF} {modprobe.NOUVEAU_CONF} "\n'
    trial_initrd.commit_options("blacklist nouveau\n", modprobe.NOUVEAU_CONF)
    trial_initrd.commit_options("")
    assert dropin.exists() and not Path(modprobe.CONF).exists(), "one of the two files is still there"
    trial_initrd.commit_options("", modprobe.NOUVEAU_CONF)
    assert not dropin.exists()


def test_a_box_without_dracut_gets_no_file_of_dracut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _has(tmp_path, monkeypatch, "sbin/update-initramfs")
    (tmp_path / "modprobe.d").mkdir()
    trial_initrd.commit_options("options virtio_blk queue_depth=64\n")
    assert not (tmp_path / "dracut.conf.d").exists()
