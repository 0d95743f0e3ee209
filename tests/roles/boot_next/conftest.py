"""A box that can boot a trial by the firmware's own one-shot, in a folder of the test."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.module_utils.bootloader import boot_next, efi, esp, kexec
from tests.roles.boot_next.firmware import Firmware


@pytest.fixture
def firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Firmware:
    """A box that can boot a trial by BootNext, and not by kexec."""
    made = Firmware(tmp_path)
    monkeypatch.setattr(efi, "VARS", f"{made.vars}/")
    monkeypatch.setattr(boot_next, "_SIZE", str(tmp_path / "size"))
    monkeypatch.setattr(boot_next, "_TOOL", str(tmp_path / "efibootmgr"))
    monkeypatch.setattr(boot_next, "_CONFIG", f"{made.boot}/config-")
    monkeypatch.setattr(boot_next.platform, "machine", lambda: "x86_64")
    (tmp_path / "efibootmgr").touch()
    monkeypatch.setattr(esp, "POINTS", (str(made.esp),))
    monkeypatch.setattr(esp, "_MOUNTINFO", str(made.mountinfo))
    monkeypatch.setattr(esp, "_FSTAB", str(made.fstab))
    monkeypatch.setattr(esp, "_BLOCKS", f"{tmp_path}/blocks/")
    monkeypatch.setattr(esp, "_OWN_POINT", str(made.esp))
    monkeypatch.setattr(kexec, "_TOOL", str(tmp_path / "no-kexec"))
    return made
