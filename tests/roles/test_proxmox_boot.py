"""Boxes whose boot partitions proxmox-boot-tool keeps, against folders that stand for two partitions of a mirror and a
stand-in for bootctl (systemd_boot_box.py); one partition is driven in the lab's cell proxmox-boot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import bootloader as loaders
from ansible.module_utils import trial_initrd
from ansible.module_utils.bootloader import BootloaderError, Why, efi, esp_mirror, owned, systemd_boot
from ansible.module_utils.bootloader.proxmox_boot import ProxmoxBoot
from ansible.module_utils.tunecheck.parsers.kernel import bls
from tests.roles.systemd_boot_box import Box

RELEASE, OLDER = "6.8.12-9-pve", "6.8.12-4-pve"
LINE = "root=ZFS=rpool/ROOT/pve-1 boot=zfs console=ttyS0"
ENTRY = """\
title    Proxmox Virtual Environment
version  {0}
options  root=ZFS=rpool/ROOT/pve-1 boot=zfs console=ttyS0
linux    /EFI/proxmox/{0}/vmlinuz-{0}
initrd   /EFI/proxmox/{0}/initrd.img-{0}
"""
TRIAL = ["pci=noacs", "tunecheck.trial=abc", "panic=30"]


class Mirror(Box):
    """Two partitions, each with two kernels; ``points``: that of this boot first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.rmtree(self.esp)
        self.points = [folder / "1111-AAAA", folder / "2222-BBBB"]
        for point in self.points:
            (point / "loader/entries").mkdir(parents=True)
            (point / "loader/loader.conf").write_text("timeout 3\ndefault proxmox-*\n")
            for release in (OLDER, RELEASE):
                kernels = point / "EFI/proxmox" / release
                kernels.mkdir(parents=True)
                (kernels / f"vmlinuz-{release}").write_text("kernel")
                (kernels / f"initrd.img-{release}").write_text("initramfs")
                self.at(point, release).write_text(ENTRY.format(release))
        for release in (OLDER, RELEASE):
            (folder / "modules" / release).mkdir(exist_ok=True)
        (self.boot / f"initrd.img-{RELEASE}").write_text("initramfs")
        self.line.write_text(LINE + "\n")
        self.check_mode = False

    @staticmethod
    def at(point: Path, release: str = RELEASE) -> Path:
        return point / f"loader/entries/proxmox-{release}.conf"

    def state(self) -> dict[str, str]:
        files = [path for point in self.points for path in point.rglob("*") if path.is_file()]
        files += [path for folder in (self.vars, self.line.parent) for path in folder.iterdir()]
        return {str(path): path.read_text("latin-1") for path in files}


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    monkeypatch.setattr(efi, "VARS", f"{tmp_path}/vars/")
    monkeypatch.setattr(systemd_boot, "_LINE", str(tmp_path / "kernel/cmdline"))
    monkeypatch.setattr(systemd_boot, "_MODULES", f"{tmp_path}/modules/")
    monkeypatch.setattr(owned, "OWNED", str(tmp_path / "owned.json"))
    monkeypatch.setattr(trial_initrd, "OWN", str(tmp_path / "boot/tunecheck-trial.img"))
    monkeypatch.setattr(esp_mirror, "LIST", str(tmp_path / "uuids"))
    found = Mirror(tmp_path)
    (tmp_path / "uuids").write_text("2222-BBBB\n1111-AAAA\n")
    monkeypatch.setattr(esp_mirror, "mounted", lambda _module: [str(point) for point in found.points])
    return found


def loader(box: Mirror) -> Any:
    return ProxmoxBoot(box)


def options(path: Path) -> list[str]:
    return bls.options(path.read_text()).split()


def test_a_trial_is_on_every_disk_and_the_next_boot_takes_it_once(box: Mirror) -> None:
    before = box.state()
    assert not loader(box).trial_refusal()
    loader(box).stage([], TRIAL)
    for point in box.points:
        assert options(point / "loader/entries/tunecheck-trial.conf") == [*LINE.split(), *TRIAL]
    assert loader(box).staged().armed and efi.variable("LoaderEntryOneShot") == "tunecheck-trial.conf"
    assert loader(box).generated() == LINE.split() and loader(box).root() == str(box.points[0])
    assert {path: text for path, text in box.state().items() if path in before} == before
    (box.points[1] / "loader/entries/tunecheck-trial.conf").unlink()
    assert not loader(box).staged().armed, "staged again: the other disk may boot next"
    loader(box).give_up()
    assert box.state() == before and loader(box).staged() is None


def test_commit_and_rollback_byte_for_byte_on_every_disk(box: Mirror) -> None:
    """Every kernel of Proxmox's, and nobody else's entry; of /etc/kernel/cmdline the first line, as the tool does."""
    other = box.points[0] / "loader/entries/other.conf"
    other.write_text("title Other\nlinux /EFI/other/vmlinuz\noptions root=UUID=2\n")
    box.line.write_text(LINE + "\n# a note\n")
    before = box.state()
    loader(box).stage([], TRIAL)
    loader(box).commit(["pci=noacs", "iommu=pt"], [])
    for point in box.points:
        for release in (OLDER, RELEASE):
            assert options(box.at(point, release)) == [*LINE.split(), "pci=noacs", "iommu=pt"]
        assert not (point / "loader/entries/tunecheck-trial.conf").exists()
    assert box.line.read_text() == LINE + " pci=noacs iommu=pt\n# a note\n"
    assert other.read_text() == before[str(other)] and loader(box).staged() is None
    loader(box).commit(["iommu=pt"], ["pci=noacs"])
    assert options(box.at(box.points[1])) == [*LINE.split(), "iommu=pt"]
    loader(box).remove()
    assert box.state() == before and loader(box).configured() == []


def test_a_commit_mends_a_disk_whose_entries_are_older(box: Mirror) -> None:
    """A power cut between the disks: taken up again, the words stand once on each."""
    box.at(box.points[1]).write_text(ENTRY.format(RELEASE).replace("console=ttyS0", "console=ttyS0 pci=noacs"))
    loader(box)._keep(["pci=noacs"], [])
    loader(box).commit(["pci=noacs"], [])
    for point in box.points:
        assert options(box.at(point)) == [*LINE.split(), "pci=noacs"]


def test_an_initramfs_of_its_own_lies_on_every_disk(box: Mirror) -> None:
    image, own = str(box.boot / f"initrd.img-{RELEASE}"), trial_initrd.OWN
    Path(own).write_text("initramfs with options")
    before, names = box.state(), loader(box).own_initrd(image, own)
    assert names == (f"/EFI/proxmox/{RELEASE}/initrd.img-{RELEASE}", f"/EFI/proxmox/{RELEASE}/tunecheck-trial.img")
    loader(box).stage([], TRIAL, names)
    assert all((point / names[1][1:]).read_text() == "initramfs with options" for point in box.points)
    loader(box).give_up()
    assert box.state() == before
    loader(box).stage([], TRIAL, names)
    loader(box).promote(image, own)
    for point in box.points:
        assert (point / names[0][1:]).read_text() == "initramfs with options" and not (point / names[1][1:]).exists()


def test_a_disk_that_could_not_boot_the_box_is_refused_before_the_first_write(box: Mirror) -> None:
    for path in (box.points[1] / "loader/entries").iterdir():
        path.unlink()
    before = box.state()
    with pytest.raises(BootloaderError, match="proxmox-boot-tool refresh") as caught:
        loader(box).trial_refusal()
    assert caught.value.why is Why.OTHER_KIND and str(box.points[1]) in str(caught.value) and box.state() == before


def test_which_box_is_driven_so(box: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its list, whatever GRUB and kernel-install left there; where GRUB booted it nothing is written."""
    monkeypatch.setattr(loaders.GrubDebian, "absent", classmethod(lambda _cls: None))
    monkeypatch.setattr(ProxmoxBoot, "maker", str(tmp_path / "tool"))
    monkeypatch.setattr(systemd_boot, "_BOOTCTL", str(tmp_path / "bootctl"))
    (tmp_path / "bootctl").touch()
    with pytest.raises(BootloaderError, match=r"no .*/tool") as caught:
        loaders.detect(box)
    assert caught.value.why is Why.NO_LOADER
    (tmp_path / "tool").touch()
    assert type(loaders.detect(box)) is ProxmoxBoot
    box.set("LoaderInfo", "GRUB 2.12".encode("utf-16-le"))
    with pytest.raises(BootloaderError, match=r"/etc/default/grub .*proxmox-boot-tool refresh") as caught:
        loaders.detect(box)
    assert caught.value.why is Why.NO_LOADER
    (tmp_path / "uuids").write_text("not a number\n")
    assert isinstance(loaders.detect(box), loaders.GrubDebian)


def test_the_partition_of_this_boot_is_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is gone is left out; a boot from another partition is refused; mounted for this process alone."""
    for name in ("uuid", "partuuid"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):
        (tmp_path / name).touch()
    for folder, name, device in (("uuid", "1111-AAAA", "a"), ("uuid", "2222-BBBB", "b"), ("partuuid", "0b0b", "b")):
        (tmp_path / folder / name).symlink_to(tmp_path / device)
    monkeypatch.setattr(esp_mirror, "_DEVICES", f"{tmp_path}/uuid/")
    monkeypatch.setattr(esp_mirror, "_PARTITIONS", f"{tmp_path}/partuuid/")
    monkeypatch.setattr(esp_mirror, "_POINTS", f"{tmp_path}/points/")
    monkeypatch.setattr(esp_mirror, "LIST", str(tmp_path / "uuids"))
    monkeypatch.setattr(efi, "VARS", f"{tmp_path}/vars/")
    monkeypatch.setattr(esp_mirror, "_leave_namespace", lambda _module: None)
    (tmp_path / "uuids").write_text("1111-AAAA\n3333-CCCC\n\n2222-BBBB\n")
    box = Box(tmp_path)
    box.set("LoaderDevicePartUUID", "0B0B\0".encode("utf-16-le"))
    asked: list[list[str]] = []

    class Module:
        check_mode = True

        def __init__(self, **answers: int) -> None:
            self.answers = answers

        def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
            asked.append(argv)
            return self.answers.get(argv[4][:2], 0), "", ""

    points = [f"{tmp_path}/points/{uuid}" for uuid in ("2222-BBBB", "1111-AAAA")]
    assert esp_mirror.mounted(Module()) == points
    assert [argv[-1] for argv in asked] == points and all(argv[4].startswith("ro,") for argv in asked)
    # Where somebody has one mounted writable, a read-only mount fails.
    asked.clear()
    assert esp_mirror.mounted(Module(ro=32)) == points
    assert [argv[4][:2] for argv in asked] == ["ro", "rw"] * 2
    box.set("LoaderDevicePartUUID", "0C0C\0".encode("utf-16-le"))
    with pytest.raises(BootloaderError, match="0c0c") as caught:
        esp_mirror.mounted(Module())
    assert caught.value.why is Why.OTHER_ESP
