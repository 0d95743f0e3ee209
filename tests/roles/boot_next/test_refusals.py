"""Where the firmware cannot boot a trial, or did not keep what it was given: nothing of it stays."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils import trial_hang
from ansible.module_utils.bootloader import BootloaderError, Why, boot_next, efi, esp
from ansible.module_utils.tunecheck.parsers.kernel import cmdline
from tests.roles.boot_next.firmware import RELEASE, TOKENS, Firmware, files, kernel, trial


@pytest.mark.parametrize(("spoils", "why", "names"), [
    (lambda name, value: b"" if name == "Boot0002" else value, Why.ENTRIES_NOT_KEPT, r"\b0 .*\btunecheck-trial\b"),
    (lambda name, value: value[:-20] if name == "Boot0002" else value, Why.ENTRY_NOT_KEPT, r"\bBoot0002\b.*\b67\b"),
    (lambda name, value: b"\0" + value[1:] if name == "Boot0002" else value, Why.ENTRY_NOT_KEPT, r"\bBoot0002\b"),
    (lambda name, value: b"" if name == "BootNext" else value, Why.NEXT_NOT_KEPT, r"\bBootNext\b.*\b0002\b"),
    (lambda name, value: b"\1\0" if name == "BootNext" else value, Why.NEXT_NOT_KEPT, r"\b0001\b.*\b0002\b"),
])
def test_what_the_firmware_did_not_keep_is_taken_away(firmware: Firmware, spoils: Any, why: Why, names: str) -> None:
    before = firmware.state()
    firmware.spoils = spoils
    with pytest.raises(BootloaderError, match=names) as caught:
        trial(firmware).stage(TOKENS, *files(firmware))
    assert caught.value.why is why
    firmware.set("BootNext", b"")
    assert firmware.state() == before


def test_a_firmware_that_puts_the_trial_in_its_order_gets_no_trial(firmware: Firmware) -> None:
    def spoils(name: str, value: bytes) -> bytes:
        firmware.set("BootOrder", b"\2\0\1\0\0\0")
        return value

    firmware.spoils = spoils
    with pytest.raises(BootloaderError, match=r"\bBootOrder\b") as caught:
        trial(firmware).stage(TOKENS, *files(firmware))
    assert caught.value.why is Why.ORDER_NOT_KEPT
    assert firmware.entries() == {"0001": "debian"} and not (firmware.esp / "EFI/tunecheck").exists()


@pytest.mark.parametrize("verb", ["--create-only", "--bootnext"])
def test_a_full_nvram_leaves_nothing(firmware: Firmware, verb: str) -> None:
    before = firmware.state()
    firmware.fails = verb
    with pytest.raises(BootloaderError, match=rf"efibootmgr .*{verb}\b.*No space left on device") as caught:
        trial(firmware).stage(TOKENS, *files(firmware))
    assert caught.value.why is Why.COMMAND_FAILED
    assert firmware.state() == before


def test_an_esp_that_fills_up_leaves_nothing(firmware: Firmware, monkeypatch: pytest.MonkeyPatch) -> None:
    before = firmware.state()

    def full(*_arguments: Any, **_more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(BootloaderError, match=r"/vmlinuz: No space left on device") as caught:
        trial(firmware).stage(TOKENS, *files(firmware))
    assert caught.value.why is Why.FILES
    monkeypatch.undo()
    left = {path for path in firmware.state() if path not in before}
    assert left == set(), left


REFUSALS: list[tuple[str, Callable[[Firmware, pytest.MonkeyPatch], object], Why, str]] = [
    ("bios", lambda box, patch: patch.setattr(efi, "VARS", f"{box.folder}/none/"), Why.NO_UEFI, "/none/"),
    ("no efivarfs", lambda box, patch: patch.setattr(efi, "VARS", f"{box.boot}/empty/"), Why.NO_VARIABLES, "/empty/"),
    ("efivars read-only", lambda _box, patch: patch.setattr(os, "access", lambda *_: False), Why.VARIABLES_READ_ONLY,
     "/"),
    ("no efibootmgr", lambda box, _patch: (box.folder / "efibootmgr").unlink(), Why.NO_TOOL, "/efibootmgr"),
    ("Secure Boot", lambda box, _patch: box.set("SecureBoot", b"\1"), Why.SECURE_BOOT, "Secure Boot"),
    ("32 bits", lambda box, _patch: (box.folder / "size").write_text("32\n"), Why.UEFI_32_BIT, "32"),
    ("no ESP", lambda box, _patch: box.mountinfo.write_text(""), Why.NO_ESP, "/fstab"),
    ("ESP read-only", lambda box, _patch: box.mount("ro"), Why.ESP_READ_ONLY, "/"),
    ("ESP on md", lambda _box, patch: patch.setattr(esp, "block_kind", lambda _number: "md"), Why.ESP_NO_PARTITION,
     "mdraid"),
    ("ESP no partition", lambda box, _patch: (box.folder / "devices/vda/vda2/partition").unlink(),
     Why.ESP_NO_PARTITION, "/dev/"),
    ("no stub", lambda box, _patch: box.kernel.write_bytes(kernel(stub=False)), Why.NO_STUB, "x86_64"),
    ("stub of arm", lambda box, _patch: box.kernel.write_bytes(kernel(0xAA64)), Why.NO_STUB, "x86_64"),
    ("no kernel", lambda box, _patch: box.kernel.write_bytes(b"MZ"), Why.NO_STUB, "x86_64"),
    ("no initrd=", lambda box, _patch: (box.boot / f"config-{RELEASE}").write_text(
        "# CONFIG_EFI_GENERIC_STUB_INITRD_CMDLINE_LOADER is not set\n"), Why.STUB_WITHOUT_INITRAMFS,
     "CONFIG_EFI_GENERIC_STUB_INITRD_CMDLINE_LOADER"),
]


@pytest.mark.parametrize(("change", "why", "names"), [each[1:] for each in REFUSALS],
                         ids=[each[0] for each in REFUSALS])
def test_what_cannot_be_had_is_refused_before_the_first_write(firmware: Firmware, monkeypatch: pytest.MonkeyPatch,
                                                              change: Any, why: Why, names: str) -> None:
    (firmware.boot / "empty").mkdir()
    assert trial(firmware).refusal(TOKENS, *files(firmware)) is None
    change(firmware, monkeypatch)
    before = firmware.state()
    found = trial(firmware).refusal(TOKENS, *files(firmware))
    assert found.why is why and names in found
    assert firmware.state() == before and not any("efibootmgr" in each for each in firmware.commands)


@pytest.mark.parametrize("token", ["initrd=a", "x.initrd=a", "rd.initrd=1"])
def test_what_the_stub_would_take_for_an_initramfs_is_refused(firmware: Firmware, token: str) -> None:
    before = firmware.state()
    found = trial(firmware).refusal([*TOKENS, token], *files(firmware))
    assert found.why is Why.NAMES_INITRAMFS and repr(token) in found
    with pytest.raises(BootloaderError) as caught:
        trial(firmware).stage([*TOKENS, token], *files(firmware))
    assert caught.value.why is Why.NAMES_INITRAMFS and firmware.state() == before


def test_what_a_trial_adds_to_a_line_can_be_carried(firmware: Firmware) -> None:
    """All that a trial's own words can be, one of the initramfs of its own among them."""
    own = [value for name, value in vars(cmdline).items() if name.endswith("_KEY")]
    assert len(own) >= 3
    words = [*(f"{key}=tunecheck-trial.img" for key in own), *trial_hang.tokens(TOKENS, "abc", 600, 30)]
    assert trial(firmware).refusal([*TOKENS, *words], *files(firmware)) is None


@pytest.mark.parametrize("token", ["a=$b", "a=\"b", "a='b", "a=\\b", "a=ü", "a=b c", "a=`b`"])
def test_what_an_entry_cannot_carry_is_refused(firmware: Firmware, token: str) -> None:
    before = firmware.state()
    found = trial(firmware).refusal([*TOKENS, token], *files(firmware))
    assert found.why is Why.CHARACTER and repr(token) in found
    with pytest.raises(BootloaderError) as caught:
        trial(firmware).stage([*TOKENS, token], *files(firmware))
    assert caught.value.why is Why.CHARACTER and repr(token) in str(caught.value)
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
    with pytest.raises(boot_next.NoRoomError, match=r"\b0 KiB\b.*\b26\d KiB\b") as caught:
        trial(firmware).refusal(TOKENS, *files(firmware))
    assert caught.value.why is Why.NO_ROOM
    with pytest.raises(boot_next.NoRoomError, match=r"\b0 KiB\b.*\b12\d\d KiB\b"):
        trial(firmware).refusal(TOKENS, *files(firmware), (str(firmware.initrd), 1 << 20))
    # What a power cut left of a copy makes room as a whole one does, and is taken away with the trial.
    free[:] = [0, 1 << 20]
    unfinished = firmware.esp / "EFI/tunecheck/.tunecheck-abc"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(bytes(1 << 20))
    assert trial(firmware).refusal(TOKENS, *files(firmware)) is None
    unfinished.unlink()
    unfinished.parent.rmdir()
    free[:] = [1 << 20, 0]
    found = trial(firmware).refusal(TOKENS, *files(firmware))
    assert found.why is Why.NO_ROOM_FOR_VARIABLES and re.search(r"\b0 bytes\b.*\b5120\b", found, re.IGNORECASE)
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
    with pytest.raises(BootloaderError, match=r"\bmount -t vfat\b") as caught:
        trial(firmware).take_away()
    assert caught.value.why is Why.ESP_NOT_MOUNTED
