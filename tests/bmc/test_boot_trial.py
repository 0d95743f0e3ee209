"""The role boot_trial before a reboot, and after one from which the box did not return. The box never answers; its BMC
is the emulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bmc.conftest import SERIAL, Bmc
from tests.bmc.plays import play, said

RESET = "RESET host-qmp-system-reset"
pytestmark = pytest.mark.usefixtures("quiet")


def role(tmp_path: Path, bmc: Bmc, *arguments: str, serials: tuple[str, ...] = (SERIAL,),
         **variables: Any) -> subprocess.CompletedProcess[str]:
    """The real role on a box with a staged trial, of which all is known that the role asks before it asks the box."""
    spec = {"accelerators": {"count": 0}, "boot": {"reboot": "auto", "reboot_when_busy": False, "timeout_seconds": 1}}
    box = {"busy": [], "receipt": {"spec_digest": "d"}, "identity": {"serials": list(serials), "uuid": ""}}
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "vars": {
            "kernel_cmdline_phase": "staged", "kernel_modules_pending": [], "kernel_cmdline_merged": ["a"],
            "kernel_cmdline_trial_id": "abc", "pcie_acs_registers": {}, "box_info": box},
        "tasks": [{"set_fact": {"box_spec_frozen": {"digest": "d", "spec": spec}}},
                  {"import_role": {"name": "boot_trial"}}]}]))
    return play(tmp_path, bmc, *arguments, playbook=str(tmp_path / "play.yml"), **variables)


@pytest.mark.parametrize(("policy", "more", "says"), [
    ("auto", {}, "if it does not come back: the run power-cycles it through its BMC https://127.0.0.1:{port} (usable, "
                 f"system {SERIAL})"),
    ("never", {}, "if it does not come back: the run says the command for a power cycle through its BMC"),
    ("auto", {"boot_trial_bmc_password": "wrong"}, "its BMC is not usable (unauthorized): the BMC"),
])
def test_the_plan_says_whether_the_bmc_is_usable(quiet: Bmc, tmp_path: Path, policy: str, more: dict[str, Any],
                                                 says: str) -> None:
    done = role(tmp_path, quiet, "--check", boot_trial_power_cycle=policy, **more)
    plan = " ".join(said(done).partition("plan for box")[2].split())
    assert done.returncode == 0 and says.format(port=quiet.address.rpartition(":")[2]) in plan, done.stdout
    assert ("The run would stop before the reboot" in plan) == bool(more)


@pytest.mark.parametrize(("policy", "serials", "more", "says"), [
    ("auto", ("OTHER-1",), {}, "is the BMC of another machine: its system"),
    ("confirm", (SERIAL,), {"boot_trial_bmc_password": "wrong"}, "does not accept the user"),
    ("auto", (), {}, "is the BMC of this box cannot be told"),
])
def test_a_wrong_bmc_is_found_while_the_box_is_up(quiet: Bmc, tmp_path: Path, policy: str, serials: tuple[str, ...],
                                                  more: dict[str, Any], says: str) -> None:
    done = role(tmp_path, quiet, serials=serials, boot_trial_power_cycle=policy, **more)
    assert done.returncode == 2 and says in said(done), done.stdout
    assert "Nothing was rebooted; what was staged stays staged" in said(done)


def test_a_policy_without_a_bmc_is_told(quiet: Bmc, tmp_path: Path) -> None:
    done = role(tmp_path, quiet, "--check", boot_trial_power_cycle="auto", boot_trial_bmc_address="")
    assert done.returncode == 0 and "boot_trial_power_cycle: auto has no effect on box" in said(done), done.stdout


def test_a_bmc_that_may_do_nothing_stops_nothing(quiet: Bmc, tmp_path: Path) -> None:
    done = role(tmp_path, quiet, serials=("OTHER-1",))
    assert "is the BMC of another machine" in said(done), done.stdout
    assert done.returncode == 4 and "Look who uses the GPUs" in done.stdout, "it went on, to the box"


@pytest.mark.parametrize(("policy", "events", "says"), [
    ("auto", [RESET], "power-cycled the system"),
    ("confirm", [], "can power-cycle the system"),      # and nobody is there who could type the number
])
def test_a_box_that_did_not_return_is_power_cycled(quiet: Bmc, tmp_path: Path, policy: str, events: list[str],
                                                   says: str) -> None:
    identity = {"serials": [SERIAL], "uuid": ""}
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "vars": {
            "boot_trial_power_cycle": policy, "boot_trial_timeout_seconds": 1,
            "boot_trial__bmc_box": identity, "boot_trial__before": {"identity": identity}},
        "tasks": [{"include_role": {"name": "boot_trial", "tasks_from": "bmc"}},
                  {"include_role": {"name": "boot_trial", "tasks_from": "bmc_cycle"}},
                  {"debug": {"msg": "sent {{ boot_trial_bmc.sent }}"}}]}]))
    done = play(tmp_path, quiet, playbook=str(tmp_path / "play.yml"))
    assert done.returncode == 0, done.stdout
    assert quiet.guest.events() == events
    assert says in said(done) and f"sent {bool(events)}" in said(done), done.stdout
