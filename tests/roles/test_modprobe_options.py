"""What modprobe_options waits for: a live value that differs, of nvidia.ko out of the driver's own list."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(("parameters", "pending"), [
    ({"NVreg_EnableResizableBar": 0, "NVreg_RestrictProfilingToAdminUsers": 0, "NVreg_DeviceFileMode": "0666"}, []),
    ({"NVreg_EnableResizableBar": 1}, ["NVreg_EnableResizableBar is 0; expected 1"]),
    ({"NVreg_RestrictProfilingToAdminUsers": 1}, ["NVreg_RestrictProfilingToAdminUsers is 0; expected 1"]),
    ({"NVreg_RegistryDwords": "ForceP2P=0x211"}, ["NVreg_RegistryDwords is ; expected ForceP2P=0x211"]),
    ({"NVreg_ExcludeAllGpus": 1}, []),          # shown nowhere: not waited for
])
def test_parameters_of_nvidia(load_module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                              parameters: dict[str, object], pending: list[str]) -> None:
    module = load_module("modprobe_options")
    listing = tmp_path / "params"
    # Lines of an H200's, driver 580.159.04, 2026-11-21.
    listing.write_text('DeviceFileMode: 438\nRmProfilingAdminOnly: 0\nEnableResizableBar: 0\nRegistryDwords: ""\n')
    monkeypatch.setattr(module.modprobe, "NVIDIA_PARAMS", str(listing))
    there = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: path == "/sys/module/nvidia" or there(path))
    found, not_loaded = module.live({"nvidia": parameters})
    assert not_loaded == [] and [text.partition(": ")[2] for text in found] == pending
