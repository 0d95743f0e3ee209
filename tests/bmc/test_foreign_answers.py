"""What BMCs answer that no emulator does: each gets its code, within the deadline, and never a second reset."""

from __future__ import annotations

import contextlib
import json
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.bmc.crafted import RESET, ROOT, SESSIONS, SYSTEM, SYSTEMS, Service, served, service, system
from tests.bmc.emulator import PASSWORD, USER, Certificate

from tunecheck_fleet.bmc.__main__ import answer
from tunecheck_fleet.bmc.model import Code, Request, clean

ALL = ["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle", "Nmi"]
ERROR = json.dumps({"error": {"code": "Base.1.0.GeneralError", "message": "no \x1b[31mway"}}).encode()


def ask(what: Service, shown: Certificate, state: str = "checked", **more: Any) -> dict[str, Any]:
    begin = time.monotonic()
    seen = answer(state, Request(**{"address": what.address, "user": USER, "password": PASSWORD, "confirmed": "SN1",
                                    "ca_file": str(shown.file), "seconds": 20} | more))
    assert time.monotonic() - begin < 60
    assert seen["code"] in set(Code) and PASSWORD not in json.dumps(seen)
    assert seen["sentence"].isascii() and seen["sentence"].isprintable() and len(seen["sentence"]) < 700
    return seen


def hangs(handler: BaseHTTPRequestHandler) -> None:
    """Say nothing until whoever asked has gone: longer than any deadline, and no longer than it takes."""
    with contextlib.suppress(OSError):
        handler.rfile.read(1)


@pytest.mark.parametrize(("allowed", "sent"), [
    (ALL, ["ForceRestart"]),
    (["On", "ForceOff", "PowerCycle"], ["PowerCycle"]),
    (None, ["ForceRestart"]),
])
def test_which_reset_is_asked_for(shown: Certificate, allowed: list[str] | None, sent: list[str]) -> None:
    with served(service(system=system(allowed)), shown) as bmc:
        assert ask(bmc, shown, "cycled")["code"] == "cycled"
    assert [each["ResetType"] for each in bmc.posted()] == sent


def test_values_that_stand_in_an_action_info(shown: Certificate) -> None:
    info = "/redfish/v1/Systems/1/ResetActionInfo"
    action = {"target": RESET, "@Redfish.ActionInfo": info}
    said = {"@odata.id": info, "Id": "i", "Name": "i",
            "Parameters": [{"Name": "ResetType", "AllowableValues": ["PowerCycle"]}]}
    what = service(**{info: said}, system=system(Actions={"#ComputerSystem.Reset": action}))
    with served(what, shown) as bmc:
        assert ask(bmc, shown)["reset"] == "PowerCycle"


def test_a_session_is_opened_once_and_ended(shown: Certificate) -> None:
    root = {"Id": "root", "Systems": {"@odata.id": SYSTEMS}, "Links": {"Sessions": {"@odata.id": SESSIONS}},
            "SessionService": {"@odata.id": "/redfish/v1/SessionService"}}
    with served(service(root=root, sessions=(201, b"{}", ("X-Auth-Token", "t"), ("Location", f"{SESSIONS}/7"))),
                shown) as bmc:
        assert ask(bmc, shown)["code"] == "usable"
    assert [(method, path) for method, path, _, _ in bmc.asked if path.startswith(SESSIONS)] == [
        ("POST", SESSIONS), ("DELETE", f"{SESSIONS}/7")]
    assert not any("Authorization" in headers for _, _, headers, _ in bmc.asked)
    with served(service(root=root, sessions=(401, b"{}")), shown) as bmc:
        assert ask(bmc, shown)["code"] == "unauthorized"
    assert len([path for _, path, _, _ in bmc.asked if path == SESSIONS]) == 1, "accounts are locked after a few tries"


HTML = (200, b"<!doctype html><title>Login</title>")


@pytest.mark.parametrize(("more", "code"), [
    ({"root": HTML}, "not_redfish"),
    ({"root": (200, b"[" * 100_000)}, "not_redfish"),
    ({"root": (200, b"[]")}, "not_redfish"),
    ({"root": (404, b"")}, "not_redfish"),
    ({"system": HTML}, "not_redfish"),
    ({"system": (200, b'{"Id": 7}')}, "no_reset"),
    ({"systems": {"Name": "n", "Members": "x"}}, "not_redfish"),
    ({"root": (200, b" " * (3 << 20))}, "too_large"),
    ({"systems": {"Name": "n", "Members": []}}, "no_system"),
    ({"systems": {"Name": "n", "Members": [{"@odata.id": SYSTEM}, {"@odata.id": f"{SYSTEMS}/2"}]}}, "several_systems"),
    ({"systems": (401, b"{}")}, "unauthorized"),
    ({"systems": (403, ERROR)}, "no_privilege"),
    ({"system": (503, ERROR)}, "not_ready"),
    ({"system": (429, ERROR)}, "refused"),
    ({"system": system(["GracefulShutdown"])}, "no_reset"),
    ({"system": system(["ForceOff"])}, "no_reset"),
    ({"system": {key: value for key, value in system().items() if key != "Actions"}}, "no_reset"),
    ({"systems": {"Name": "n", "Members": [{"@odata.id": "https://192.0.2.1/redfish/v1/Systems/1"}]}}, "elsewhere"),
    ({"systems": (307, b"", ("Location", "http://127.0.0.1/redfish/v1/Systems"))}, "elsewhere"),
])
def test_each_answer_has_its_code(shown: Certificate, more: dict[str, Any], code: str) -> None:
    with served(service(**more), shown) as bmc:
        assert ask(bmc, shown)["code"] == code
        assert ask(bmc, shown, "cycled")["code"] == code
    assert bmc.posted() == []


@pytest.mark.parametrize(("reset", "code", "sent"), [
    ((403, ERROR), "no_privilege", False),
    ((400, ERROR), "refused", False),
    ((503, ERROR), "not_ready", False),
    ((500, ERROR), "unsure", True),
    (lambda handler: handler.connection.close(), "unsure", True),
    (hangs, "unsure", True),
])
def test_a_reset_is_sent_once(shown: Certificate, monkeypatch: pytest.MonkeyPatch, reset: Any, code: str,
                              sent: bool) -> None:
    monkeypatch.setattr("tunecheck_fleet.bmc.transport.REQUEST_SECONDS", 3.0)
    with served(service(reset=reset), shown) as bmc:
        seen = ask(bmc, shown, "cycled")
    assert (seen["code"], seen["sent"]) == (code, sent) and len(bmc.posted()) == 1


def test_off_is_waited_for_before_on(shown: Certificate) -> None:
    states = [system(["On", "ForceOff"], PowerState=state) for state in ("On", "On", "PoweringOff", "Off")]
    with served(service(system=list(states)), shown) as bmc:
        assert ask(bmc, shown, "cycled")["code"] == "cycled"
    assert [each["ResetType"] for each in bmc.posted()] == ["ForceOff", "On"]
    assert len([path for method, path, _, _ in bmc.asked if (method, path) == ("GET", SYSTEM)]) >= 4


def test_a_system_that_does_not_go_off_is_not_switched_on(shown: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunecheck_fleet.bmc.power.OFF_SECONDS", 2.0)
    with served(service(system=system(["On", "ForceOff"])), shown) as bmc:
        assert ask(bmc, shown, "cycled")["code"] == "refused"
    assert [each["ResetType"] for each in bmc.posted()] == ["ForceOff"]


def test_dells_sku_is_the_boxs_serial_number_and_uuids_come_in_two_byte_orders(shown: Certificate) -> None:
    said = system(ALL, SerialNumber="CN7016", SKU="4JX2K93", UUID="4C4C4544-004A-5810-8032-B4C04F4B3933")
    with served(service(system=said), shown) as bmc:
        assert ask(bmc, shown, serials=("4JX2K93",), unattended=True)["code"] == "usable"
        assert ask(bmc, shown, uuid="44454c4c-4a00-1058-8032-b4c04f4b3933", unattended=True)["code"] == "usable"
        assert ask(bmc, shown, uuid="44454c4c-4a00-1058-8032-b4c04f4b3934")["code"] == "wrong_system"
        assert ask(bmc, shown, uuid="00000000-0000-0000-0000-000000000000", unattended=True)["code"] == "not_comparable"


@pytest.mark.parametrize("hanging", [{ROOT: hangs}, {SYSTEM: hangs}])
def test_a_bmc_that_hangs_ends_at_the_deadline(shown: Certificate, hanging: dict[str, Any]) -> None:
    with served(service(**hanging), shown) as bmc:
        begin = time.monotonic()
        assert ask(bmc, shown, seconds=2)["code"] == "hanging"
        assert time.monotonic() - begin < 5


def test_an_address_where_nobody_or_somebody_else_answers(shown: Certificate) -> None:
    with served(service(), None) as bmc:
        assert ask(bmc, shown)["code"] == "no_tls"
    assert bmc.asked == [], "plain HTTP is not spoken"
    assert ask(bmc, shown)["code"] == "unreachable"     # its server has ended
    assert ask(Service({}, address="https://no-such-host.invalid"), shown)["code"] == "unreachable"


@pytest.mark.parametrize("address", ["http://127.0.0.1", "127.0.0.1", "https://", "https://h/redfish/v1", "https://h:x",
                                     "https://me:word@h", "https://[::1", "file:///etc/passwd"])
def test_an_address_that_is_none(shown: Certificate, address: str) -> None:
    seen = ask(Service({}, address=address), shown)
    assert seen["code"] == "bad_setting" and "word" not in seen["sentence"].replace("password", "")


def test_the_environments_proxy_and_netrc_are_not_asked(shown: Certificate, monkeypatch: pytest.MonkeyPatch,
                                                        tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(netrc))
    with served(service(), shown) as bmc:
        assert ask(bmc, shown)["code"] == "usable"


def test_foreign_words_are_short_and_plain() -> None:
    assert clean("a\x1b[2J\nb") == "a [2J b" and clean(None) == "" and clean(7) == "7"
    assert len(clean("x" * 10_000)) < 200
