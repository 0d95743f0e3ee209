"""Inputs that once cost minutes or gigabytes, made anew: seeds of the campaign, and cases of the tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tunecheck.host.answers import Answers
from tunecheck.host.bundle import pack
from tunecheck.host.recording import load_recording

__all__ = ["BUNDLES", "RECORDING", "answers", "many_packages"]

RECORDING = Path(__file__).resolve().parents[1] / "fixtures/h200-2gpu-vm.tar.zst"


def answers() -> Answers:
    """Those of the recorded machine, to be changed."""
    host = load_recording(str(RECORDING))
    return Answers(dict(host._reads), dict(host._lists), dict(host._realpaths), dict(host._errors), dict(host._runs),
                   host._nvml)


def many_packages(document: dict[str, Any], many: int = 20_000) -> bytes:
    """A snapshot with as many packages as patterns of unattended-upgrades, none of which fits."""
    found = document["snapshot"]["host"]["packages"]
    found.update(manager="dpkg", unattended=True, spared=[f"linux-image-{number}" for number in range(many)],
                 installed={"value": [{"name": f"nvidia-driver-{number}", "version": "595.71.05-1", "held": False}
                                      for number in range(many)], "source": "dpkg-query"})
    return json.dumps(document).encode()


def _old_format() -> bytes:
    """250 KB that unpack to 250 MB, which are 80 million lists."""
    return gzip.compress(b'{"schema": "tunecheck/record/1", "lists": {"/x": [' + b"[]," * (80 << 20) + b"[]]}}", 6)


def _old_format_small() -> bytes:
    """Within its size, and 8 million lists."""
    return gzip.compress(b'{"schema": "tunecheck/record/1", "lists": {"/x": [' + b"[]," * (8 << 20) + b"[]]}}", 6)


def _fake_gpus(many: int = 2000) -> bytes:
    found = Answers()
    names = [f"0000:{number >> 5 & 255:02x}:{number & 31:02x}.{number >> 13}" for number in range(many)]
    found.lists["/sys/bus/pci/devices"] = names
    for name in names:
        folder = f"/sys/bus/pci/devices/{name}"
        found.reads |= {f"{folder}/vendor": b"0x10de\n", f"{folder}/device": b"0x2bb5\n",
                        f"{folder}/class": b"0x030000\n"}
        found.realpaths[folder] = f"/sys/devices/pci0000:00/0000:00:01.0/{name}"
    return pack(found, created=0)


def _submenus() -> bytes:
    found = answers()
    found.reads["/boot/grub/grub.cfg"] = b"submenu 'a' {\n" * 200_000
    found.errors.pop("read /boot/grub/grub.cfg", None)
    return pack(found, created=0)


def _blank_lines() -> bytes:
    found = answers()
    found.lists["/etc/default/grub.d"] = ["zzz.cfg"]
    found.reads["/etc/default/grub.d/zzz.cfg"] = b"x" + b"\n" * 1_000_000 + b"x"
    found.reads["/boot/grub/grub.cfg"] = b"\n" * 1_000_000
    found.errors.pop("read /boot/grub/grub.cfg", None)
    return pack(found, created=0)


#: name -> the file's content
BUNDLES = {"old-format": _old_format, "old-format-small": _old_format_small, "fake-gpus": _fake_gpus,
           "submenus": _submenus, "blank-lines": _blank_lines}
