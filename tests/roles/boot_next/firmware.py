"""A box with UEFI in a folder: efivars as files, the EFI system partition as a folder, and stand-ins for the programs
that write them. efibootmgr writes what version 18 wrote on OVMF."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.bootloader import base, boot_next, efi

GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
RELEASE = "6.12.118+deb13-amd64"
MACHINE = 0x8664
TOKENS = ["root=UUID=1", "ro", "$vt_handoff", "pci=noacs", "tunecheck.trial=abc"]
LINE = "initrd=\\EFI\\tunecheck\\initrd.img root=UUID=1 ro pci=noacs tunecheck.trial=abc"


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le")


def kernel(machine: int = MACHINE, stub: bool = True) -> bytes:
    """A kernel's first bytes, as far as a firmware looks."""
    head = b"MZ" + b"\0" * 58 + struct.pack("<I", 0x40) + b"PE\0\0" + struct.pack("<H", machine)
    return (head if stub else b"\x1f\x8b" + head[2:]) + b" the kernel " * 400


class Firmware:
    """The box. ``spoils``: what the firmware does to a variable that it was given; run_command() is AnsibleModule's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.vars, self.esp, self.boot = folder, folder / "vars", folder / "efi", folder / "boot"
        for each in (self.vars, self.esp / "EFI/debian", self.boot, folder / "blocks", folder / "devices/vda/vda2"):
            each.mkdir(parents=True)
        (self.esp / "EFI/debian/shimx64.efi").write_text("shim")
        (folder / "devices/vda/vda2/partition").write_text("2\n")
        (folder / "blocks/254:2").symlink_to(folder / "devices/vda/vda2")
        self.kernel, self.initrd = self.boot / f"vmlinuz-{RELEASE}", self.boot / f"initrd.img-{RELEASE}"
        self.kernel.write_bytes(kernel())
        self.initrd.write_bytes(b"initramfs")
        self.mountinfo, self.fstab = folder / "mountinfo", folder / "fstab"
        self.mount("rw")
        self.fstab.write_text("UUID=1 / btrfs defaults 0 0\n")
        self.set("BootOrder", b"\1\0\0\0")
        self.set("Boot0001", struct.pack("<IH", 1, 4) + utf16("debian\0") + b"\x7f\xff\4\0")
        self.spoils: Callable[[str, bytes], bytes] = lambda _name, value: value
        self.fails = ""
        self.commands: list[str] = []
        self.step: Callable[[], None] = lambda: None

    def mount(self, options: str) -> None:
        self.mountinfo.write_text(f"30 21 254:2 / {self.esp} {options},relatime - vfat /dev/vda2 {options}\n")

    def set(self, name: str, value: bytes) -> None:
        path = self.vars / f"{name}-{GUID}"
        if value:
            path.write_bytes(b"\7\0\0\0" + value)
        else:
            path.unlink(missing_ok=True)

    def state(self) -> dict[str, bytes]:
        """All that the firmware reads."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else b""
                for top in (self.vars, self.esp) for path in top.rglob("*")}

    def entries(self) -> dict[str, str]:
        return {entry.number: entry.label for entry in efi.entries()}

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        program, rest = argv[0].rsplit("/", 1)[-1], argv[1:]
        self.commands.append(" ".join([program, *rest]))
        self.step()
        if self.fails and self.fails in rest:
            return 5, "", "Could not prepare Boot variable: No space left on device"
        if program == "efibootmgr":
            self._efibootmgr(rest)
        self.step()
        return 0, "/dev/null\n" if program == "findfs" else "", ""

    def _efibootmgr(self, rest: list[str]) -> None:
        assert rest.pop(0) == "--quiet"
        names = rest[::2] if rest[0] != "--create-only" else ["--create-only", *rest[1::2]]
        told = dict(zip(rest[1::2], rest[2::2], strict=True)) if rest[0] == "--create-only" else {}
        if told:
            assert names == ["--create-only", "--disk", "--part", "--loader", "--label", "--unicode"]
            assert told["--disk"] == "/dev/vda"
            path = utf16(told["--loader"] + "\0")
            paths = struct.pack("<HHI34x", 0x0104, 42, int(told["--part"]))
            paths += struct.pack("<HH", 0x0404, 4 + len(path)) + path + b"\x7f\xff\4\0"
            free = next(number for number in range(1, 99) if not (self.vars / f"Boot{number:04X}-{GUID}").exists())
            self._keep(f"Boot{free:04X}", struct.pack("<IH", 1, len(paths)) + utf16(told["--label"] + "\0") + paths
                       + utf16(told["--unicode"]))
        elif rest[0] == "--bootnext":
            self._keep("BootNext", struct.pack("<H", int(rest[1], 16)))
        elif rest[0] == "--delete-bootnext":
            self.set("BootNext", b"")
        else:
            assert rest[0] == "--bootnum" and rest[2] == "--delete-bootnum"
            self.set("Boot" + rest[1], b"")

    def _keep(self, name: str, value: bytes) -> None:
        self.set(name, self.spoils(name, value))


def trial(box: Firmware) -> boot_next.BootNext:
    return boot_next.BootNext(box, base.Bootloader(box).run)


def files(box: Firmware) -> tuple[str, list[str]]:
    return str(box.kernel), [str(box.initrd)]


def copies(box: Firmware) -> list[bytes]:
    return [(box.esp / "EFI/tunecheck" / name).read_bytes() for name in ("vmlinuz", "initrd.img")]
