"""A box with systemd-boot, as far as its module asks: a stand-in for bootctl that answers as version 257 did in the
lab's VM. Entries, EFI variables and /etc/kernel/cmdline are files in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.bootloader import efi

RELEASE, OLDER = "6.12.118+deb13-amd64", "6.12.100+deb13-amd64"
LINE = "root=UUID=1 ro  console=ttyS0"
ENTRY = """\
# Boot Loader Specification type#1 entry
title      Debian GNU/Linux 13 (trixie)
version    {0}
machine-id 1ab0
sort-key   debian
options    root=UUID=1 ro  console=ttyS0 systemd.machine_id=1ab0
linux      /1ab0/{0}/linux
initrd     /1ab0/{0}/initrd.img-{0}
"""


class Box:
    """The box: run_command() is AnsibleModule's."""

    def __init__(self, folder: Path) -> None:
        self.esp, self.vars, self.boot = folder / "efi", folder / "vars", folder / "boot"
        self.line, self.entries = folder / "kernel/cmdline", self.esp / "loader/entries"
        for each in (self.entries, self.vars, self.boot, self.line.parent, folder / "modules" / OLDER,
                     folder / "modules" / RELEASE, *(self.esp / "1ab0" / each for each in (OLDER, RELEASE))):
            each.mkdir(parents=True)
        self.default = self.entry(RELEASE)
        (self.esp / "loader/loader.conf").write_text("#timeout 3\n")
        self.line.write_text(LINE + "\n")
        (self.boot / f"initrd.img-{RELEASE}").write_text("initramfs")
        self.set("LoaderFeatures", b"\xff\x7f\0\0\0\0\0\0")
        self.set("LoaderInfo", "systemd-boot 257.13".encode("utf-16-le"))
        self.fails = ""

    def entry(self, release: str, text: str = ENTRY) -> Path:
        path = self.entries / f"1ab0-{release}.conf"
        path.write_text(text.format(release))
        for name in ("linux", f"initrd.img-{release}"):
            (self.esp / "1ab0" / release / name).write_text(f"{name} as installed")
        return path

    def set(self, name: str, value: bytes) -> None:
        path = self.vars / f"{name}-{efi._GUID}"
        path.unlink(missing_ok=True)
        if value:
            path.write_bytes(b"\x07\0\0\0" + value)

    def state(self) -> dict[str, str]:
        """Everything that boots or that kernel-install reads."""
        files = [path for path in (*self.esp.rglob("*"), *self.vars.iterdir(), *self.line.parent.iterdir())
                 if path.is_file()]
        return {str(path): path.read_text("latin-1") for path in files}

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        given = [word.partition("=")[2] for word in argv if word.startswith("--esp-path=")]
        esp = Path(given[0]) if given else self.esp
        _tool, verb, *words = [word for word in argv if not word.startswith("--esp-path=")]
        if verb == self.fails:
            return 1, "", "Failed to set EFI variable: No space left on device"
        if verb == "--print-esp-path":
            return 0, f"{esp}\n", ""
        if verb == "set-oneshot":
            self.set("LoaderEntryOneShot", words[0].encode("utf-16-le"))
            return 0, "", ""
        assert verb == "list"
        found = []
        for path in (esp / "loader/entries").glob("*.conf"):
            keys = dict(row.split(None, 1) for row in path.read_text().splitlines() if not row.startswith("#"))
            found.append({"type": "type1", "id": path.name, "path": str(path), "linux": keys["linux"],
                          **({"sortKey": keys["sort-key"]} if "sort-key" in keys else {})})
        # By sort key and version, and behind all of them those without, by name; both from the end.
        found.sort(key=lambda entry: ("sortKey" in entry, entry["id"]), reverse=True)
        return 0, json.dumps([*found, {"type": "auto", "id": "auto-reboot-to-firmware-setup", "path": ""}]), ""
