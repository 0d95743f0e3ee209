"""A box that can boot a trial by kexec alone, in a folder of the test."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.module_utils import bounded, gpu_modules, preconditions, processes
from ansible.module_utils.bootloader import efi, kexec, proof
from tests.roles.kexec.running_kernel import RELEASE, Box


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A BIOS box whose kernel loads another one."""
    made = Box(tmp_path)
    for name in ("_TOOL", "_RECORD", "LOADED", "_JOINED", "_KERNEL", "_HYPERVISOR"):
        monkeypatch.setattr(kexec, name, str(made.path(name)))
    monkeypatch.setattr(kexec, "_DISABLED", ((str(tmp_path / "kexec_load_disabled"), "1"),
                                             (str(tmp_path / "kexec_load_limit_reboot"), "0")))
    monkeypatch.setattr(preconditions, "LOCKDOWN", str(made.path("lockdown")))
    monkeypatch.setattr(kexec, "_CONFIG", f"{made.boot}/config-")
    monkeypatch.setattr(kexec.platform, "release", lambda: RELEASE)
    monkeypatch.setattr(gpu_modules, "_LIST", str(made.path("modules")))
    monkeypatch.setattr(gpu_modules, "_FDS", f"{tmp_path}/proc/[0-9]*/fd/*")
    monkeypatch.setattr(processes, "program", lambda pid: (tmp_path / "proc" / pid / "comm").read_text())
    monkeypatch.setattr(processes, "read", lambda pid, name: (tmp_path / "proc" / pid / name).read_text())
    monkeypatch.setattr(bounded, "run", made.run)
    monkeypatch.setattr(proof, "MEMORY", str(tmp_path / "memory.json"))
    monkeypatch.setattr(efi, "VARS", f"{tmp_path}/none/")
    return made
