"""A trial by the firmware's own one-shot: what is staged, what is taken away, and what a kill leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.bootloader import Unproven, boot_files, boot_next, efi, proof
from tests.roles.boot_next.firmware import LINE, RELEASE, TOKENS, Firmware, copies, files, trial, utf16

#: Boot0003 as efibootmgr 18 wrote it through OVMF, up to what it hands over.
REAL = bytes.fromhex(
    "010000006000740075006e00650063006800650063006b002d0074007200690061006c00000004012a000200000000100000000000000000"
    "020000000000509c08b67b57124991f1fce0a7e64a1e0202040432005c004500460049005c00740075006e00650063006800650063006b00"
    "5c0076006d006c0069006e0075007a0000007fff0400")
_KILLED = 9


def test_an_entry_is_read_as_the_firmware_keeps_it(firmware: Firmware) -> None:
    firmware.set("Boot0003", REAL + utf16("root=UUID=1 ro"))
    firmware.set("Boot00F3", b"\1\0")
    found = {entry.number: entry for entry in efi.entries()}
    real = found["0003"]
    assert (real.label, real.file, real.partition) == ("tunecheck-trial", "\\EFI\\tunecheck\\vmlinuz", 2)
    assert real.line == "root=UUID=1 ro" and real.active and sorted(found) == ["0001", "0003", "00F3"]


def test_staged_and_taken_away_touch_the_trial_alone(firmware: Firmware) -> None:
    before = firmware.state()
    trial(firmware).stage(TOKENS, *files(firmware))
    staged = trial(firmware).staged()
    assert staged.armed and staged.tokens == [token for token in TOKENS if token != "$vt_handoff"]
    assert copies(firmware) == [firmware.kernel.read_bytes(), b"initramfs"]
    assert [entry.line for entry in efi.entries() if entry.number == efi.boot_next()] == [LINE]
    assert {path: text for path, text in firmware.state().items() if path in before} == before
    firmware.set("BootNext", b"")       # as the firmware does before it boots it
    assert not trial(firmware).staged().armed
    trial(firmware).take_away()
    assert firmware.state() == before and trial(firmware).staged() is None


def test_a_bootnext_of_somebody_else_stays(firmware: Firmware) -> None:
    trial(firmware).stage(TOKENS, *files(firmware))
    firmware.set("BootNext", b"\1\0")
    assert not trial(firmware).staged().armed
    trial(firmware).take_away()
    assert efi.boot_next() == "0001"


def test_several_initramfs_become_one_as_grub_makes_them_one(firmware: Firmware) -> None:
    microcode = firmware.boot / "intel-ucode.img"
    microcode.write_bytes(b"microcode!")
    trial(firmware).stage(TOKENS, str(firmware.kernel), [str(microcode), str(firmware.initrd)])
    assert copies(firmware)[1] == b"microcode!\0\0initramfs"


def test_what_was_written_since_is_copied_again(firmware: Firmware) -> None:
    trial(firmware).stage(TOKENS, *files(firmware))
    folder = firmware.esp / "EFI/tunecheck"
    kept = (folder / "vmlinuz").stat().st_ino
    firmware.initrd.write_bytes(b"initramfs of a later role")
    trial(firmware).refresh(*files(firmware))
    assert copies(firmware) == [firmware.kernel.read_bytes(), b"initramfs of a later role"]
    assert (folder / "vmlinuz").stat().st_ino == kept
    assert not boot_files.same([str(firmware.initrd)], str(firmware.initrd) + ".not-there")
    (folder / "initrd.img").write_bytes(b"initramfs of a later role, and more")
    assert not boot_files.same([str(firmware.initrd)], str(folder / "initrd.img"))


@pytest.mark.parametrize("mounted", [True, False])
def test_killed_at_every_step_the_next_run_knows_all_of_it(firmware: Firmware, monkeypatch: pytest.MonkeyPatch,
                                                           mounted: bool) -> None:
    if not mounted:     # then it is mounted for the write alone
        firmware.mountinfo.write_text("")
        firmware.fstab.write_text(f"/dev/null {firmware.esp} vfat noauto 0 2\n")
        (firmware.folder / "blocks/1:3").symlink_to(firmware.folder / "devices/vda/vda2")
    before = firmware.state()

    def killed_at(number: int, act: Callable[[], None]) -> bool:
        """Whether there was that step."""
        child = os.fork()
        if child == 0:
            steps = iter(range(1, number))

            def step() -> None:
                if next(steps, None) is None:
                    os._exit(_KILLED)

            def first(real: Callable[..., Any]) -> Callable[..., Any]:
                return lambda *arguments, **more: (step(), real(*arguments, **more))[1]

            firmware.step = step
            for name in ("fsync", "rename", "unlink", "rmdir", "mkdir"):
                monkeypatch.setattr(os, name, first(getattr(os, name)))
            act()
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _KILLED

    def whole_where_armed() -> None:
        if efi.boot_next():
            assert firmware.entries()[efi.boot_next()] == "tunecheck-trial"
            assert copies(firmware) == [firmware.kernel.read_bytes(), b"initramfs"]

    counts = []
    for begin, act in ((lambda: None, lambda: trial(firmware).stage(TOKENS, *files(firmware))),
                       (lambda: trial(firmware).stage(TOKENS, *files(firmware)), trial(firmware).take_away)):
        number = 1
        while True:
            begin()
            more = killed_at(number, act)
            whole_where_armed()
            assert (trial(firmware).staged() is None) == (firmware.state() == before), number
            trial(firmware).take_away()
            assert firmware.state() == before, number
            if not more:
                break
            number += 1
        counts.append(number)
    assert min(counts) > 8, counts


def test_a_boot_of_copies_is_proven_by_sums_alone(firmware: Firmware, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MEMORY", str(firmware.folder / "memory.json"))
    assert boot_next.ran(LINE.split()) and not boot_next.ran(["initrd=\\other.img"])
    booted = max(path.stat().st_ctime for path in (firmware.kernel, firmware.initrd)) + 60

    def unproven(**more: Any) -> Any:
        return proof.unproven(*files(firmware), release=RELEASE, booted=booted, **more)

    assert unproven() == "" and unproven(copies=True).why is Unproven.WRITTEN_SINCE
    proof.note(*files(firmware))
    assert unproven(copies=True) == ""
    firmware.initrd.write_bytes(b"made again, behind the copy and before the reboot")
    assert unproven() == "" and "initrd.img" in unproven(copies=True)


def test_a_copy_is_on_the_disk_piece_by_piece_with_its_name(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What a FAT file system has given to a file without a name on the disk is lost to it after a power cut."""
    firmware.kernel.write_bytes(bytes(3 * boot_files._CHUNK + 5))
    real, seen = os.fsync, list[bool]()
    monkeypatch.setattr(os, "fsync", lambda fd: (seen.append(Path(f"/proc/self/fd/{fd}").is_dir()), real(fd))[1])
    boot_files.copy([str(firmware.kernel)], str(firmware.esp / "EFI/x/vmlinuz"))
    assert seen[:9] == [True, *[False, True] * 4], "its folder; then each piece, and the folder that names the file"
