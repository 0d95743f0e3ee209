"""A trial that hangs silently on a box without a hardware watchdog: its BMC, sushy-tools' emulator, resets the VM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bmc.emulator import PASSWORD, USER, certificate, emulator
from tests.lab import hanging
from tests.lab.box import Box, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
UUID = "0d8a7c66-41f2-4a5e-9d3b-7e6f5a4b3c2d"
pytestmark = [pytest.mark.long,
              pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")]


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Box, dict[str, str]]]:
    """The box, and the variables that name its BMC."""
    box = shared_box(layout="switch", uuid=UUID)
    folder = Path(tmp_path_factory.mktemp("bmc"))
    shown = certificate(folder)
    with emulator(folder, box.machine.folder, UUID, shown) as address:
        yield box, {"boot_trial_bmc_address": address, "boot_trial_bmc_user": USER,
                    "boot_trial_bmc_password": PASSWORD, "boot_trial_bmc_fingerprint": shown.fingerprint}


def test_the_plan_compares_the_box_with_its_bmc(lab: tuple[Box, dict[str, str]]) -> None:
    box, bmc = lab
    box.set_spec({}, **bmc, boot_trial_power_cycle="auto")
    run = box.playbook("--check", *TRIAL, playbook=PLAY)
    shown = " ".join(run.stdout.split())
    assert f"(usable, system {UUID})" in shown and "if the trial hangs: no hardware watchdog" in shown, run


def test_a_silent_hang_is_ended_by_the_bmc(lab: tuple[Box, dict[str, str]]) -> None:
    box, bmc = lab
    before = box.cmdline()
    hanging.install(box)
    box.set_spec({"kernel": {"cmdline": ["pci=noacs", "tunecheck_lab.hang=1"]},
                  "boot": {"timeout_seconds": 150, "confirm_seconds": 160}}, **bmc, boot_trial_power_cycle="auto")
    run = box.playbook(*TRIAL, playbook=PLAY, timeout=2400)
    shown = " ".join(run.stdout.split())
    assert hanging.HANGS_NOW in box.console(), run
    assert run.rc != 0 and "because it hung and this play power-cycled it" in shown, run
    assert "state: reverted" in shown and PASSWORD not in run.stdout
    assert box.boots() == 3 and box.cmdline() == before
    ended = json.loads(box.ssh("cat /var/lib/tunecheck/trial-ended.json"))
    assert ended["reason"] == "did_not_come_up"
    kept = box.ssh("cat /var/lib/tunecheck/receipt.json; grep -rIl boot_trial_bmc /etc /var/lib/tunecheck || true")
    assert "power-cycled through the BMC" in kept and bmc["boot_trial_bmc_address"] not in kept


def test_a_box_that_hangs_is_power_cycled_by_hand(lab: tuple[Box, dict[str, str]]) -> None:
    """The command of the failed play: not while the box is up, then it brings it back."""
    box, bmc = lab
    box.set_spec({}, **bmc)
    confirmed = ("-e", f"power_cycle_confirm={UUID}")
    run = box.playbook(*confirmed, playbook="playbooks/power_cycle.yml")
    assert run.rc == 2 and "answers by ssh" in run.stdout and "power_cycle_although_up=true" in run.stdout, run
    boots, seen = box.boots(), len(box.console())
    program = hanging.install(box)
    box.ssh(f"(sleep 3; exec setsid {program}) >/dev/null 2>&1 </dev/null &")
    until(lambda: hanging.HANGS_NOW in box.console()[seen:], "it never hung")
    run = box.playbook(*confirmed, playbook="playbooks/power_cycle.yml", timeout=1500)
    assert run.rc == 0 and "on its default boot entry" in " ".join(run.stdout.split()), run
    assert box.boots() == boots + 1
