"""What the role boot_trial does when a box does not come back from its reboot.

The BMC's emulator and the QEMU behind it are real; the box is an sshd that goes down and stays down, until QEMU was
reset."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.bmc.conftest import SERIAL, Bmc
from tests.bmc.plays import play, said
from tests.rollout.boxes import LOST, OLD_ENTRY, Box, Boxes, settled
from tests.ssh_server import SSHD

RESET = "RESET host-qmp-system-reset"
pytestmark = [pytest.mark.usefixtures("quiet"),
              pytest.mark.skipif(SSHD is None, reason="sshd is not installed")]


@contextmanager
def comes_back(bmc: Bmc, box: Box, at_all: bool) -> Iterator[list[str]]:
    """The box answers again as soon as QEMU was reset; yields QEMU's events."""
    seen: list[str] = []
    ended = threading.Event()

    def listen() -> None:
        while not ended.wait(0.2):
            seen.extend(bmc.guest.events())
            if at_all and RESET in seen and box.kind == LOST:
                box.kind, box.up_at = OLD_ENTRY, time.monotonic()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def reboot(folder: Path, bmc: Bmc, policy: str,
           at_all: bool) -> tuple[subprocess.CompletedProcess[str], Box, list[str]]:
    """The play, the box, and QEMU's events. ``at_all``: whether a power cycle brings the box back."""
    boxes, identity = Boxes(folder, [LOST], down=0), {"serials": [SERIAL], "uuid": ""}
    box, = boxes.boxes
    box.write("identity", json.dumps(identity))
    (folder / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "vars": {
            **settled(10, 1), "boot_trial_on_trial": True, "boot_trial_waiting": [],
            "boot_trial_power_cycle": policy, "boot_trial__bmc_box": identity},
        "tasks": [{"include_role": {"name": "boot_trial", "tasks_from": tasks}} for tasks in ("bmc", "reboot", "wait")],
    }]))
    with boxes.running(), comes_back(bmc, box, at_all) as events:
        done = play(folder, bmc, playbook=str(folder / "play.yml"), **boxes.reached() | {"ansible_port": box.port})
    return done, box, events


def test_a_box_that_hangs_in_its_trial_is_back_on_the_old_entry(quiet: Bmc, tmp_path: Path) -> None:
    done, box, events = reboot(tmp_path, quiet, "auto", at_all=True)
    assert done.returncode == 2 and events == [RESET], done.stdout
    boot = (box.folder / "boot_id").read_text()
    assert f"on its old boot entry (boot {boot}), because it hung and this play power-cycled it: the BMC" in said(done)
    assert [what for _, what in box.log()][-2:] == ["given_up", "receipt: reverted"]
    assert "the trial boot did not come up; power-cycled through the BMC, the old entry booted" in said(done)


def test_a_box_that_does_not_come_back_from_the_power_cycle_either(quiet: Bmc, tmp_path: Path) -> None:
    done, _, events = reboot(tmp_path, quiet, "auto", at_all=False)
    assert done.returncode == 2 and events == [RESET], done.stdout
    assert "ForceRestart. It did not come back within 10 s of that either." in said(done)


@pytest.mark.parametrize("policy", ["never", "confirm"])
def test_the_command_is_said_where_nobody_allowed_it(quiet: Bmc, tmp_path: Path, policy: str) -> None:
    done, _, events = reboot(tmp_path, quiet, policy, at_all=True)
    assert done.returncode == 2 and events == [], done.stdout
    command = f"ansible-playbook playbooks/power_cycle.yml -i {tmp_path}/hosts.json -l box"
    assert f"{command} -e power_cycle_confirm={SERIAL} Console:" in said(done)
