"""A real Redfish emulator drives a real QEMU through QMP: the plays power-cycle it, or refuse, and QEMU says which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bmc.conftest import SERIAL, UUID, Bmc
from tests.bmc.emulator import PASSWORD, USER
from tests.bmc.plays import SOON, at_terminal, play, said

from lab import qmp
from tunecheck_fleet.bmc.__main__ import answer
from tunecheck_fleet.bmc.model import Request

RESET = "RESET host-qmp-system-reset"
pytestmark = pytest.mark.usefixtures("quiet")


def ask(bmc: Bmc, state: str = "checked", **more: Any) -> dict[str, Any]:
    asked = {"address": bmc.address, "user": USER, "password": PASSWORD, "ca_file": str(bmc.shown.file)} | more
    return answer(state, Request(**asked))


def test_the_play_power_cycles_what_was_confirmed(bmc: Bmc, tmp_path: Path) -> None:
    done = play(tmp_path, bmc, "-e", f"power_cycle_confirm={SERIAL}", "-e", "power_cycle_wait_seconds=1")
    assert bmc.guest.events() == [RESET], done.stdout
    assert f"power-cycled the system {UUID} ({SERIAL}): ForceRestart" in said(done)
    # It has no system to come back: the play does not call it done.
    assert done.returncode == 2 and "The box did not come back by ssh within 1 s" in said(done)


@pytest.mark.parametrize(("typed", "events"), [(SERIAL, [RESET]), ("yes", [])])
def test_a_person_at_a_terminal_types_the_number(bmc: Bmc, tmp_path: Path, typed: str, events: list[str]) -> None:
    asks = "To power-cycle it (ForceRestart), type the number"
    shown = at_terminal(tmp_path, bmc, asks, typed, "-e", "power_cycle_wait_seconds=1")
    assert bmc.guest.events() == events, shown
    for named in ("Host: box (does not answer by ssh)", f"BMC: {bmc.address}", f"System: {UUID}, power: On",
                  f"Number: {SERIAL}"):
        assert named in shown


@pytest.mark.parametrize(("arguments", "host", "says"), [
    ((), {}, f"has the number {SERIAL}, and nothing was given"),
    (("-e", "power_cycle_confirm=TC-0043"), {}, f"has the number {SERIAL}, and TC-0043 was given"),
    (("-e", f"power_cycle_confirm={SERIAL}"), {"boot_trial_bmc_password": "wrong"}, "not accept the user operator"),
    (("-e", f"power_cycle_confirm={SERIAL}"), {"boot_trial_bmc_address": ""}, "the inventory names no BMC for box"),
])
def test_the_play_refuses(bmc: Bmc, tmp_path: Path, arguments: tuple[str, ...], host: dict[str, Any],
                          says: str) -> None:
    done = play(tmp_path, bmc, *arguments, **SOON, **host)
    assert done.returncode == 2 and says in said(done) and "Nothing was done" in said(done), done.stdout
    assert bmc.guest.events() == []


def test_check_mode_says_what_would_be_done(bmc: Bmc, tmp_path: Path) -> None:
    done = play(tmp_path, bmc, "--check", "-e", f"power_cycle_confirm={SERIAL}", **SOON)
    assert done.returncode == 0 and "A run without --check would do it" in said(done), done.stdout
    assert bmc.guest.events() == []


def test_a_system_that_is_off_is_switched_on(bmc: Bmc) -> None:
    qmp.ask(bmc.guest.folder, "stop")
    done = ask(bmc, "cycled", confirmed=SERIAL)
    assert (done["code"], done["sent"]) == ("switched_on", True)
    assert bmc.guest.events() == ["STOP", RESET, "RESUME"]


def test_force_off_and_on_where_nothing_else_is_allowed(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    from sushy.resources.system.system import System

    own, allowed = System.get_allowed_reset_system_values, ("ForceOff", "On", "GracefulRestart")
    monkeypatch.setattr(System, "get_allowed_reset_system_values",
                        lambda self: {each for each in own(self) if each.value in allowed})
    done = ask(bmc, "cycled", confirmed=SERIAL)
    assert (done["code"], done["reset"]) == ("cycled", "ForceOff+On")
    assert bmc.guest.events() == ["STOP", RESET, "RESUME"]


@pytest.mark.parametrize(("more", "code"), [
    ({}, "usable"),
    ({"ca_file": "", "fingerprint": "pinned"}, "usable"),
    ({"ca_file": "", "fingerprint": "AB" * 32}, "other_certificate"),
    ({"ca_file": ""}, "untrusted"),
    ({"ca_file": "/nowhere.pem"}, "bad_setting"),
    ({"fingerprint": "AB"}, "bad_setting"),
    ({"password": "wrong"}, "unauthorized"),
    ({"user": "nobody"}, "unauthorized"),
    ({"password": ""}, "no_credentials"),
    ({"system": UUID}, "usable"),
    ({"system": "1"}, "no_system"),
    ({"serials": ("OTHER-1",)}, "wrong_system"),
    ({"serials": ("OTHER-1", SERIAL.lower())}, "usable"),
    ({"uuid": UUID, "serials": ("OTHER-1",)}, "usable"),
    ({"serials": ("To Be Filled By O.E.M.",)}, "usable"),
    ({"serials": ("Default string",), "unattended": True}, "not_comparable"),
    ({"serials": ("Default string",), "serial": SERIAL, "unattended": True}, "usable"),
    ({"serial": "OTHER-1", "uuid": UUID}, "wrong_system"),
])
def test_what_is_looked_at_before_anything_is_done(bmc: Bmc, more: dict[str, Any], code: str) -> None:
    if more.get("fingerprint") == "pinned":
        colons = ":".join(bmc.shown.fingerprint[at:at + 2] for at in range(0, 64, 2)).upper()
        more = more | {"fingerprint": f"SHA256={colons}"}
    for state in ("checked", "cycled"):
        seen = ask(bmc, state, confirmed="another", **more)
        assert seen["code"] == (code if state == "checked" or code != "usable" else "wrong_system"), seen
        assert not seen["sent"] and PASSWORD not in json.dumps(seen)
    assert bmc.guest.events() == []


def test_a_certificate_to_compare_is_named(bmc: Bmc) -> None:
    assert bmc.shown.fingerprint in ask(bmc, ca_file="")["sentence"]
    assert bmc.shown.fingerprint in ask(bmc, ca_file="", fingerprint="0" * 64)["sentence"]


def test_a_system_that_is_off_is_not_the_box_that_is_up(bmc: Bmc) -> None:
    qmp.ask(bmc.guest.folder, "stop")
    assert ask(bmc, up=True)["code"] == "off"
    assert ask(bmc)["power"] == "Off"
