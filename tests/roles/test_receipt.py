"""A receipt that cannot be read ends a play in a sentence that names it, and is never written over: it says how the box
was before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

#: The modules that read it, and what they are asked.
_ASKED = {
    "box_info": {"pci_ids": [], "applied": "", "asked_of_boot_loader": [], "acs_by_setpci": False, "work": []},
    "box_receipt": {"state": "committed", "note": "n", "spec_digest": "d", "git_revision": "g", "trial_id": "",
                    "tokens": [], "acs": {}},
    "driver_packages": {"state": "absent", "version": "", "source": "distribution", "mirror": "",
                        "mirror_fingerprint": "", "key": "", "modules": "dkms", "hold": True, "drain": False},
    "runtime_packages": {"state": "absent"}}


class EndedError(Exception):
    pass


def _said(module: ModuleType, monkeypatch: pytest.MonkeyPatch, params: dict[str, Any]) -> str:
    """What the module fails with."""
    failed: list[str] = []

    class Module:
        check_mode = False

        def __init__(self, **_: Any) -> None:
            self.params = params

        def fail_json(self, msg: str, **_: Any) -> None:
            failed.append(msg)
            raise EndedError

        def exit_json(self, **said: Any) -> None:
            raise AssertionError(said)

    monkeypatch.setattr(module, "AnsibleModule", Module)
    with pytest.raises(EndedError):
        module.main()
    return failed[0]


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "kept").touch()


def _too_large(path: Path) -> None:
    path.touch()
    os.truncate(path, (16 << 20) + 1)


@pytest.mark.parametrize("name", _ASKED)
@pytest.mark.parametrize("make", [_folder, os.mkfifo, _too_large, lambda path: path.symlink_to(path)],
                         ids=["folder", "fifo", "too large", "link to itself"])
def test_what_cannot_be_read_is_named_and_stays(load_module: Callable[[str], ModuleType], tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None],
                                                name: str) -> None:
    from ansible.module_utils import receipt

    path = tmp_path / "receipt.json"
    make(path)
    before = path.lstat()
    monkeypatch.setattr(receipt, "RECEIPT", str(path))
    module = load_module(name)
    if name == "runtime_packages":
        monkeypatch.setattr(module, "runtime_manager", lambda _: None)      # whichever this machine has
    said = _said(module, monkeypatch, _ASKED[name])
    assert said.startswith(f"{path} cannot be read: ") and said.endswith("Move it away, then run the play again."), said
    assert path.lstat() == before and [each.name for each in tmp_path.iterdir()] == ["receipt.json"]
