"""What the next boot does, for every loader the roles know."""

from __future__ import annotations

import json

import pytest
from tests.unit.facts.trees import Machine, full

from tunecheck.facts.kernel.boot import boot
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
