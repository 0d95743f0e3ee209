"""Module box_info: what the machine calls itself, as it is compared with what its BMC says."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


def test_the_numbers_of_system_board_and_chassis_each_once(load_module: Callable[[str], ModuleType],
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module("box_info")
    files = {"product_serial": "4JX2K93 \n", "board_serial": "CN7016\n", "chassis_serial": "4JX2K93\n",
             "product_uuid": "4c4c4544-004a-5810-8032-b4c04f4b3933\n"}
    monkeypatch.setattr(module, "read_text", lambda path: files[path.rpartition("/")[2]])
    assert module.identity() == {"serials": ["4JX2K93", "CN7016"], "uuid": "4c4c4544-004a-5810-8032-b4c04f4b3933"}


def test_a_machine_without_dmi_has_no_number(load_module: Callable[[str], ModuleType],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(path: str) -> str:
        raise PermissionError(13, "no", path)

    module = load_module("box_info")
    monkeypatch.setattr(module, "read_text", unreadable)
    assert module.identity() == {"serials": [], "uuid": ""}
