"""The child that the action plugin starts: it ends in time whatever a BMC does, and its secrets stay with it."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.bmc.crafted import SYSTEM, served, service
from tests.bmc.emulator import PASSWORD, USER, Certificate

from tunecheck_fleet.bmc.__main__ import answer
from tunecheck_fleet.bmc.model import Request

_PATH = Path(__file__).resolve().parents[2] / "playbooks/action_plugins/bmc_power.py"


@pytest.fixture(scope="module")
def plugin() -> Any:
    spec = importlib.util.spec_from_file_location("bmc_power", _PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ActionModule


def asked(address: str, shown: Certificate, state: str = "checked") -> dict[str, Any]:
    return {"state": state, "address": address, "user": USER, "password": PASSWORD, "ca_file": str(shown.file),
            "seconds": 30.0, "serials": [], "confirmed": "SN1"}


def drip(handler: Any) -> None:
    """A byte now and then: no single read ever waits for long."""
    for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
        handler.connection.sendall(bytes([byte]))
        time.sleep(0.2)


def test_a_bmc_that_drips_is_left(plugin: Any, shown: Certificate) -> None:
    with served(service(**{SYSTEM: drip}), shown) as bmc:
        begin = time.monotonic()
        assert plugin._answer(asked(bmc.address, shown), 8)["code"] == "hanging"
        seen = plugin._answer(asked(bmc.address, shown, "cycled"), 8)
        assert (seen["code"], seen["sent"]) == ("unsure", True) and time.monotonic() - begin < 60


def test_a_flood_does_not_fill_the_memory(plugin: Any, shown: Certificate) -> None:
    bomb = b'{"Id": [' + b"[]," * 600_000 + b"[]]}"
    with served(service(root=(200, bomb)), shown) as bmc:
        assert plugin._answer(asked(bmc.address, shown), 60)["code"] in ("not_redfish", "too_large")


def test_the_password_is_in_no_argument_and_no_environment(plugin: Any, shown: Certificate,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNECHECK_BMC_PASSWORD", PASSWORD)
    seen: list[bytes] = []

    def look(handler: Any) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                    seen.append((folder / "cmdline").read_bytes() + (folder / "environ").read_bytes())
            except (OSError, ValueError):
                continue
        handler.send_response(404)
        handler.end_headers()

    with served(service(**{SYSTEM: look}), shown) as bmc:
        plugin._answer(asked(bmc.address, shown), 60)
    assert any(b"tunecheck_fleet.bmc" in each for each in seen), "the child was seen"
    assert not [each for each in seen if PASSWORD.encode() in each]


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sushy", None)
    monkeypatch.delitem(sys.modules, "tunecheck_fleet.bmc.power", raising=False)
    import tunecheck_fleet.bmc as package

    monkeypatch.delattr(package, "power", raising=False)
    seen = answer("checked", Request("https://127.0.0.1"))
    assert seen["code"] == "no_library" and "requirements/control.lock" in seen["sentence"]
