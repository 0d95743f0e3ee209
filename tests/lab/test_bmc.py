"""A trial that hangs silently on a box without a hardware watchdog: its BMC, sushy-tools' emulator, resets the VM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bmc.emulator import PASSWORD, USER, certificate, emulator
from tests.lab.box import Box, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
UUID = "0d8a7c66-41f2-4a5e-9d3b-7e6f5a4b3c2d"
pytestmark = [pytest.mark.long,
              pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")]

# As in test_hang.py: process 1 never runs again, so that the trial's own deadline does not end it, and the kernel's
# detectors see nothing.
HANG = """#!/bin/sh
sysctl -w kernel.sched_rt_runtime_us=-1
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
for each in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 >$each; done
echo tunecheck_lab: hangs now >/dev/kmsg
for cpu in $(seq 0 $(($(nproc) - 1))); do chrt -f 99 taskset -c $cpu sh -c 'while :; do :; done' & done
wait
"""
UNIT = """[Unit]
ConditionKernelCommandLine=tunecheck_lab.hang
Before=ssh.service
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/hang
TimeoutStartSec=infinity
"""


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Box, dict[str, str]]]:
    """The box, and the variables that name its BMC."""
    box = shared_box(layout="switch", uuid=UUID)
    folder = Path(tmp_path_factory.mktemp("bmc"))
    shown = certificate(folder)
    with emulator(folder, box.machine.folder, UUID, shown) as address:
        yield box, {"boot_trial_bmc_address": address, "boot_trial_bmc_user": USER,
                    "boot_trial_bmc_password": PASSWORD, "boot_trial_bmc_fingerprint": shown.fingerprint}


def write(box: Box, path: str, text: str) -> None:
    box.ssh(f"cat >{path} <<'END'\n{text}END\nchmod 755 {path}")


def hangs(box: Box, **variables: str) -> None:
    write(box, "/usr/local/sbin/hang", HANG)
    write(box, "/etc/systemd/system/hang.service", UNIT)
    box.ssh("ln -sf ../hang.service /etc/systemd/system/multi-user.target.wants/")
    boot = {"timeout_seconds": 150, "confirm_seconds": 160}
    box.set_spec({"kernel": {"cmdline": ["pci=noacs", "tunecheck_lab.hang=1"]}, "boot": boot}, **variables)


def test_the_plan_compares_the_box_with_its_bmc(lab: tuple[Box, dict[str, str]]) -> None:
    box, bmc = lab
    box.set_spec({}, **bmc, boot_trial_power_cycle="auto")
    run = box.playbook("--check", *TRIAL, playbook=PLAY)
    shown = " ".join(run.stdout.split())
    assert f"(usable, system {UUID})" in shown and "if the trial hangs: no hardware watchdog" in shown, run


def test_a_silent_hang_is_ended_by_the_bmc(lab: tuple[Box, dict[str, str]]) -> None:
    box, bmc = lab
    before = box.cmdline()
    hangs(box, **bmc, boot_trial_power_cycle="auto")
    run = box.playbook(*TRIAL, playbook=PLAY, timeout=2400)
    shown = " ".join(run.stdout.split())
    assert "tunecheck_lab: hangs now" in box.console(), run
    assert run.rc != 0 and "because it hung and this play power-cycled it" in shown, run
    assert "state: reverted" in shown and PASSWORD not in run.stdout
    assert box.console().count("Linux version ") == 3 and box.cmdline() == before
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
    boots, seen = box.console().count("Linux version "), len(box.console())
    write(box, "/usr/local/sbin/hang", HANG)
    box.ssh("(sleep 3; exec setsid /usr/local/sbin/hang) >/dev/null 2>&1 </dev/null &")
    until(lambda: "tunecheck_lab: hangs now" in box.console()[seen:], "it never hung")
    run = box.playbook(*confirmed, playbook="playbooks/power_cycle.yml", timeout=1500)
    assert run.rc == 0 and "on its default boot entry" in " ".join(run.stdout.split()), run
    assert box.console().count("Linux version ") == boots + 1
