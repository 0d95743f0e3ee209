"""What the next boot does, for every loader the roles know."""

from __future__ import annotations

import json

import pytest
from tests.unit.facts.trees import Machine, full

from tunecheck.facts.kernel.boot import Loader, boot
from tunecheck.model.absence import Absence
from tunecheck.parsers.kernel import trial

_INFO = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def _without_grub() -> Machine:
    machine = full(Machine())
    del machine.reads["/boot/grub/grub.cfg"]
    return machine.gone("read", "/boot/grub/grub.cfg", "/etc/kernel/cmdline", "/boot/grub2/grubenv")


def test_debian_reads_drop_in_and_default_entry() -> None:
    found = boot(full(Machine(), generated="quiet iommu=pt", dropin="iommu=pt").host(), "6.12.1")
    assert found.configured.value == ("iommu=pt",)
    assert found.generated.value == ("root=/dev/vda3", "ro", "quiet", "iommu=pt")
    assert found.staged.value is False


def test_no_drop_in_means_nothing_configured_and_a_script_a_staged_trial() -> None:
    machine = full(Machine()).gone("read", "/etc/default/grub.d/zz-tunecheck.cfg")
    del machine.reads["/etc/default/grub.d/zz-tunecheck.cfg"]
    machine.file("/etc/grub.d/42_tunecheck_trial", "#!/bin/sh\n")
    found = boot(machine.host(), "6.12.1")
    assert (found.configured.value, found.staged.value) == ((), True)


def test_a_trial_by_the_firmware_is_known_by_its_note_until_the_reboot() -> None:
    machine = full(Machine())
    assert boot(machine.host(), "6.12.1").staged.value is False
    note = {"schema": trial.MEMORY_SCHEMA, "trial_id": "abc", "boot_id": "11111111-2222-3333-4444-555555555555"}
    machine.file(trial.MEMORY, json.dumps(note))
    assert boot(machine.host(), "6.12.1").staged.value is True
    machine.file(trial.MEMORY, json.dumps(note | {"boot_id": "22222222-2222-3333-4444-555555555555"}))
    assert boot(machine.host(), "6.12.1").staged.value is False


def test_enterprise_linux_reads_the_saved_entry_and_its_variables() -> None:
    machine = _without_grub()
    machine.lists["/boot/loader/entries"] = ["id-6.12.1.conf", "id-6.13.0.conf"]
    machine.file("/boot/grub2/grubenv", "# GRUB Environment Block\nsaved_entry=id-6.13.0\nkernelopts=ro iommu=pt\n")
    machine.file("/boot/loader/entries/id-6.12.1.conf", "options old\n")
    machine.file("/boot/loader/entries/id-6.13.0.conf", "title x\noptions root=/dev/sda1 $kernelopts\n")
    found = boot(machine.host(), "6.12.1")
    assert found.generated.value == found.configured.value == ("root=/dev/sda1", "ro", "iommu=pt")


def test_systemd_boot_wins_over_a_leftover_grub_cfg() -> None:
    machine = full(Machine(), generated="from-grub").gone("read", "/boot/grub2/grubenv")
    machine.gone("list", "/boot/loader/entries")
    machine.file(_INFO, b"\x06\0\0\0" + "systemd-boot 257\0".encode("utf-16-le"))
    machine.lists["/efi/loader/entries"] = ["m-6.12.1.conf", "tunecheck-trial.conf"]
    machine.file("/efi/loader/entries/m-6.12.1.conf", "options root=UUID=1 quiet\n")
    machine.file("/etc/kernel/cmdline", "# ours\nroot=UUID=1 quiet iommu=pt\n")
    found = boot(machine.host(), "6.12.1")
    assert found.generated.value == ("root=UUID=1", "quiet")
    assert found.configured.value == ("root=UUID=1", "quiet", "iommu=pt") and found.staged.value is True
    machine.lists["/efi/loader/entries"] = ["m-6.12.1.conf"]
    assert boot(machine.host(), "6.12.1").staged.value is False


def _proxmox(line: str, ran: str) -> Machine:
    """A box of proxmox-boot-tool, with a grub.cfg and mounted entries that boot nothing there."""
    machine = full(Machine(), generated="from-grub").gone("read", "/etc/kernel/next-boot-pin",
                                                          "/etc/kernel/proxmox-boot-pin",
                                                          "/etc/kernel/proxmox-boot-manual-kernels")
    machine.file("/etc/kernel/proxmox-boot-uuids", "1111-AAAA\n2222-BBBB\n")
    machine.file(_INFO, b"\x06\0\0\0" + "systemd-boot 257\0".encode("utf-16-le"))
    machine.lists["/efi/loader/entries"] = ["old-6.12.1.conf"]
    machine.lists["/boot"] = [*(f"vmlinuz-{release}" for release in ("6.8.12-9-pve", "6.8.12-10-pve", "6.12.1")),
                              "initrd.img-6.8.12-9-pve"]
    machine.file("/etc/kernel/cmdline", line + "\n# a note\n")
    machine.file("/proc/cmdline", ran + "\n")
    return machine


def test_proxmox_boots_the_written_line_where_this_boot_ran_it() -> None:
    """Its entries are on partitions that nobody mounts."""
    ran = "initrd=\\EFI\\proxmox\\6.8.12-10-pve\\initrd.img-6.8.12-10-pve root=ZFS=rpool boot=zfs iommu=pt"
    found = boot(_proxmox("root=ZFS=rpool boot=zfs iommu=pt", ran).host(), "6.8.12-10-pve")
    assert found.generated.value == found.configured.value == ("root=ZFS=rpool", "boot=zfs", "iommu=pt")
    trial_of_it = f"{ran} tunecheck.trial=abc tunecheck.confirm=1200 panic=30"
    assert boot(_proxmox("root=ZFS=rpool boot=zfs iommu=pt", trial_of_it).host(), "6.8.12-10-pve").generated.known
    for line, boots in (("root=ZFS=rpool boot=zfs", ran), ("root=ZFS=rpool boot=zfs iommu=pt", trial_of_it + " x")):
        found = boot(_proxmox(line, boots).host(), "6.8.12-10-pve")
        assert found.generated.absence is Absence.NOT_DERIVABLE and found.configured.value == tuple(line.split())


def test_a_list_without_a_partition_is_none_of_proxmox() -> None:
    machine = _proxmox("root=ZFS=rpool", "root=ZFS=rpool")
    machine.file("/etc/kernel/proxmox-boot-uuids", "not a number\n")
    machine.gone("read", "/boot/grub2/grubenv").gone("list", "/boot/loader/entries", "/boot/efi/loader/entries")
    machine.lists["/efi/loader/entries"] = ["m-6.12.1.conf"]
    machine.file("/efi/loader/entries/m-6.12.1.conf", "options root=ZFS=rpool\n")
    found = boot(machine.host(), "6.12.1")
    assert found.loader is Loader.SYSTEMD_BOOT and found.generated.value == ("root=ZFS=rpool",)


def test_what_this_boot_ran_has_to_be_read() -> None:
    machine = _proxmox("root=ZFS=rpool", "root=ZFS=rpool")
    del machine.reads["/proc/cmdline"]
    found = boot(machine.gone("read", "/proc/cmdline", reason="no permission").host(), "6.8.12-10-pve")
    assert found.generated.absence is Absence.NO_PERMISSION


def test_proxmox_with_grub_tells_no_line_and_no_line_of_another_grub_cfg() -> None:
    machine = _proxmox("root=ZFS=rpool", "root=ZFS=rpool")
    machine.file(_INFO, b"\x06\0\0\0" + "GRUB 2.12\0".encode("utf-16-le"))
    assert boot(machine.host(), "6.8.12-10-pve").generated.absence is Absence.NOT_DERIVABLE


def test_the_kernel_that_proxmox_boots_next() -> None:
    """The pinned one; else the newest by number, of Proxmox's own, the running one and those that were added."""
    machine = _proxmox("root=ZFS=rpool", "root=ZFS=rpool")
    assert boot(machine.host(), "6.8.12-9-pve").release.value == "6.8.12-10-pve"
    assert boot(machine.host(), "6.12.1").release.value == "6.12.1"
    machine.file("/etc/kernel/proxmox-boot-manual-kernels", "6.12.1\n")
    assert boot(machine.host(), "6.8.12-9-pve").release.value == "6.12.1"
    machine.file("/etc/kernel/proxmox-boot-pin", "6.8.12-9-pve\n")
    assert boot(machine.host(), "6.12.1").release.value == "6.8.12-9-pve"
    machine.file("/etc/kernel/next-boot-pin", "6.8.12-10-pve\n")
    assert boot(machine.host(), "6.12.1").release.value == "6.8.12-10-pve"
    empty = _proxmox("root=ZFS=rpool", "root=ZFS=rpool")
    empty.lists["/boot"] = []
    assert boot(empty.host(), "6.12.1").release.absence is Absence.NOT_DERIVABLE


@pytest.mark.parametrize(("path", "release"), [
    ("/boot/vmlinuz-6.12.107+deb13-amd64", "6.12.107+deb13-amd64"), ("/vmlinuz-5.14.0-503.el9.x86_64",
     "5.14.0-503.el9.x86_64"), ("/0123456789abcdef/6.12.1/linux", "6.12.1"), ("/vmlinuz-linux", ""), ("/vmlinuz", ""),
    ("/Image-6.12.1", "6.12.1")])
def test_the_kernel_that_the_default_entry_starts(path: str, release: str) -> None:
    grub = full(Machine())
    grub.file("/boot/grub/grub.cfg", f"menuentry 'x' $menuentry_id_option 'x' {{\n\tlinux\t{path} ro\n}}\n")
    assert boot(grub.host(), "6.12.1").release.value == release
    bls = _without_grub()
    bls.lists["/boot/loader/entries"] = ["id-6.12.1.conf"]
    bls.file("/boot/loader/entries/id-6.12.1.conf", f"title x\nlinux {path}\noptions ro\n")
    assert boot(bls.host(), "6.12.1").release.value == release


def test_no_loader_and_a_closed_one_are_unknown() -> None:
    machine = _without_grub().gone("list", "/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries")
    assert boot(machine.host(), "6.12.1").generated.absence is Absence.NO_BOOT_LOADER
    machine.gone("list", "/boot/loader/entries", reason="no permission")
    assert boot(machine.host(), "6.12.1").generated.absence is Absence.NO_PERMISSION
