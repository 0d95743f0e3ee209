"""Where the firmware cannot boot a trial, or did not keep what it was given: nothing of it stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.bootloader import BootloaderError, boot_next, efi, esp
from tests.roles.boot_next.firmware import RELEASE, TOKENS, Firmware, files, kernel, trial


@pytest.mark.parametrize(("spoils", "says"), [
    (lambda name, value: b"" if name == "Boot0002" else value, "has 0 entries named tunecheck-trial"),
    (lambda name, value: value[:-20] if name == "Boot0002" else value, "with 67 characters; expected"),
    (lambda name, value: b"\0" + value[1:] if name == "Boot0002" else value, "Boot0002 starts"),
    (lambda name, value: b"" if name == "BootNext" else value, "BootNext is not there; expected 0002"),
    (lambda name, value: b"\1\0" if name == "BootNext" else value, "BootNext is 0001; expected 0002"),
])
def test_what_the_firmware_did_not_keep_is_taken_away(firmware: Firmware, spoils: Any, says: str) -> None:
    before = firmware.state()
    firmware.spoils = spoils
    with pytest.raises(BootloaderError, match="taken away again") as caught:
        trial(firmware).stage(TOKENS, *files(firmware))
    assert says in str(caught.value) and "The default boot entry is unchanged" in str(caught.value)
    firmware.set("BootNext", b"")
    assert firmware.state() == before


def test_a_firmware_that_puts_the_trial_in_its_order_gets_no_trial(firmware: Firmware) -> None:
    def spoils(name: str, value: bytes) -> bytes:
        firmware.set("BootOrder", b"\2\0\1\0\0\0")
        return value

    firmware.spoils = spoils
    with pytest.raises(BootloaderError, match=r"it changed BootOrder, which a trial leaves alone"):
        trial(firmware).stage(TOKENS, *files(firmware))
    assert firmware.entries() == {"0001": "debian"} and not (firmware.esp / "EFI/tunecheck").exists()


@pytest.mark.parametrize("verb", ["--create-only", "--bootnext"])
def test_a_full_nvram_leaves_nothing(firmware: Firmware, verb: str) -> None:
    before = firmware.state()
    firmware.fails = verb
    with pytest.raises(BootloaderError, match=r"No space left on device.*taken away again"):
        trial(firmware).stage(TOKENS, *files(firmware))
    assert firmware.state() == before


def test_an_esp_that_fills_up_leaves_nothing(firmware: Firmware, monkeypatch: pytest.MonkeyPatch) -> None:
    before = firmware.state()

    def full(*_arguments: Any, **_more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(BootloaderError, match=r"could not copy .*vmlinuz: No space left on device. The trial was"):
        trial(firmware).stage(TOKENS, *files(firmware))
    monkeypatch.undo()
    left = {path for path in firmware.state() if path not in before}
    assert left == set(), left


REFUSALS: list[tuple[str, Callable[[Firmware, pytest.MonkeyPatch], object], str]] = [
    ("bios", lambda box, patch: patch.setattr(efi, "VARS", f"{box.folder}/none/"), "did not boot by UEFI"),
    ("no efivarfs", lambda box, patch: patch.setattr(efi, "VARS", f"{box.boot}/empty/"), "is empty; mount efivarfs"),
    ("efivars read-only", lambda _box, patch: patch.setattr(os, "access", lambda *_: False), "mount it writable"),
    ("no efibootmgr", lambda box, _patch: (box.folder / "efibootmgr").unlink(), "install efibootmgr"),
    ("Secure Boot", lambda box, _patch: box.set("SecureBoot", b"\1"), "Secure Boot is on"),
    ("32 bits", lambda box, _patch: (box.folder / "size").write_text("32\n"), "UEFI is a 32-bit one"),
    ("no ESP", lambda box, _patch: box.mountinfo.write_text(""), "no EFI system partition is mounted at"),
    ("ESP read-only", lambda box, _patch: box.mount("ro"), "is mounted read-only at"),
    ("ESP on md", lambda _box, patch: patch.setattr(esp, "block_kind", lambda _number: "md"), "is on mdraid, which a"),
    ("ESP no partition", lambda box, _patch: (box.folder / "devices/vda/vda2/partition").unlink(), "no partition"),
    ("no stub", lambda box, _patch: box.kernel.write_bytes(kernel(stub=False)), "has no EFI stub for x86_64"),
    ("stub of arm", lambda box, _patch: box.kernel.write_bytes(kernel(0xAA64)), "has no EFI stub for x86_64"),
    ("no kernel", lambda box, _patch: box.kernel.write_bytes(b"MZ"), "has no EFI stub for x86_64"),
    ("no initrd=", lambda box, _patch: (box.boot / f"config-{RELEASE}").write_text(
        "# CONFIG_EFI_GENERIC_STUB_INITRD_CMDLINE_LOADER is not set\n"), "loads no initramfs"),
]


@pytest.mark.parametrize(("change", "says"), [each[1:] for each in REFUSALS], ids=[each[0] for each in REFUSALS])
def test_what_cannot_be_had_is_refused_before_the_first_write(firmware: Firmware, monkeypatch: pytest.MonkeyPatch,
                                                              change: Any, says: str) -> None:
    (firmware.boot / "empty").mkdir()
    assert trial(firmware).refusal(TOKENS, *files(firmware)) is None
    change(firmware, monkeypatch)
    before = firmware.state()
    assert says in trial(firmware).refusal(TOKENS, *files(firmware))
    assert firmware.state() == before and not any("efibootmgr" in each for each in firmware.commands)


@pytest.mark.parametrize("token", ["a=$b", "a=\"b", "a='b", "a=\\b", "a=ü", "a=b c", "a=`b`"])
def test_what_an_entry_cannot_carry_is_refused(firmware: Firmware, token: str) -> None:
    before = firmware.state()
    assert "cannot carry" in trial(firmware).refusal([*TOKENS, token], *files(firmware))
    with pytest.raises(BootloaderError, match=r"cannot carry.*Nothing was written"):
        trial(firmware).stage([*TOKENS, token], *files(firmware))
    assert firmware.state() == before


def test_room_is_looked_for_and_an_earlier_trial_makes_some(firmware: Firmware,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    real, free = os.statvfs, [0, 0]

    def statvfs(path: str) -> Any:
        values = list(real(path))
        if str(path) == str(firmware.esp):
            values[4] = free[0] // values[1]
        elif str(path) == efi.VARS:
            values[4] = free[1] // values[1]
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", statvfs)
    free[:] = [0, 1 << 20]
    with pytest.raises(boot_next.NoRoomError, match=r"has 0 KiB free; expected 26. KiB .*Nothing was written"):
        trial(firmware).refusal(TOKENS, *files(firmware))
    with pytest.raises(boot_next.NoRoomError, match=r"expected 12.. KiB"):
        trial(firmware).refusal(TOKENS, *files(firmware), (str(firmware.initrd), 1 << 20))
    free[:] = [1 << 20, 0]
    assert "has 0 bytes left for variables; expected 5120" in trial(firmware).refusal(TOKENS, *files(firmware))
    trial(firmware).stage(TOKENS, *files(firmware))
    (firmware.esp / "EFI/tunecheck/initrd.img").write_bytes(b"x" * (1 << 20))
    free[:] = [0, 0]
    assert trial(firmware).refusal(TOKENS, *files(firmware)) is None


def test_an_esp_that_nobody_mounted_is_mounted_for_this_time_alone(firmware: Firmware) -> None:
    firmware.mountinfo.write_text("")
    firmware.fstab.write_text(f"UUID=0BAD-CAFE {firmware.esp} vfat noauto 0 2\n")
    (firmware.folder / "blocks/1:3").symlink_to(firmware.folder / "devices/vda/vda2")      # /dev/null
    assert trial(firmware).refusal(TOKENS, *files(firmware)) is None
    trial(firmware).stage(TOKENS, *files(firmware))
    mounts = [each.split(" ")[:5] for each in firmware.commands if "mount" in each.split(" ")[0]]
    assert [(each[0], each[-1].split(",")[0]) for each in mounts] == [
        ("mount", "ro"), ("umount", str(firmware.esp)), ("mount", "rw"), ("umount", str(firmware.esp))]
    firmware.fails = "rw,nosuid,nodev,noexec,umask=0077"
    with pytest.raises(BootloaderError, match=r"expected to mount the EFI system partition"):
        trial(firmware).take_away()
