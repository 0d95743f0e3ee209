"""The box of these tests: every path of the modules leads into its folder, and every write is counted."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import initramfs, module_options, trial_confirmation, trial_hang, trial_initrd
from ansible.module_utils.bootloader import grub_debian, proof
from ansible.module_utils.box_io import read_text
from ansible.module_utils.trial_boot import situation
from ansible.module_utils.tunecheck.parsers.kernel import grub, modprobe, trial
from tests.roles.trial_transaction.boot_files import RELEASE, Box


@pytest.fixture()
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box(tmp_path)
    for name, path in (("GRUB_CFG", "boot/grub/grub.cfg"), ("DROPIN", "default/grub.d/zz-tunecheck.cfg"),
                       ("DEFAULTS", "default/grub"), ("TRIAL_SCRIPT", "grub.d/42_tunecheck_trial")):
        monkeypatch.setattr(grub, name, str(tmp_path / path))
    monkeypatch.setattr(grub_debian, "_ENV", str(tmp_path / "boot/grub/grubenv"))
    monkeypatch.setattr(modprobe, "CONF", str(made.modprobe_d / "zz-tunecheck.conf"))
    monkeypatch.setattr(trial_initrd, "OWN", str(made.boot / "tunecheck-trial.img"))
    monkeypatch.setattr(trial_initrd, "_HOOKS", str(tmp_path / "no-hooks"))
    monkeypatch.setattr(trial_confirmation, "STATE", str(tmp_path / "var/told.json"))
    monkeypatch.setattr(trial, "ENDED", str(tmp_path / "var/ended.json"))
    monkeypatch.setattr(proof, "MEMORY", str(tmp_path / "var/memory.json"))
    monkeypatch.setattr(trial_hang, "take_back", lambda *_: [])
    # What a process that is killed leaves there goes with the test.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "var"))
    debian = initramfs.InitramfsTools(RELEASE)
    debian.image = str(made.image)
    monkeypatch.setattr(debian, "text", lambda _module, image, _conf: json.loads(Path(image).read_text())["options"])
    monkeypatch.setattr(initramfs, "tools", lambda _release="": debian)
    monkeypatch.setattr(module_options, "_SYSTEM", str(tmp_path / "sys/"))
    monkeypatch.setattr(grub_debian, "block_kind", lambda _number: "disk")
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: None)
    monkeypatch.setattr(situation, "read_text", lambda path, default="": (
        " ".join(made.running) if path == "/proc/cmdline" else read_text(path, default)))
    made.power_cycle()

    def counted(real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **more: Any) -> None:
            if str(arguments[0]).startswith(str(tmp_path)) and Path(arguments[0]).exists():
                made.write()
            real(*arguments, **more)
        return call

    for name in ("rename", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return made
