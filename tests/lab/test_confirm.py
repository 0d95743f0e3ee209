"""Commit confirmed: a trial boot that nobody confirms returns to the old entry by itself. One VM, in this order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.box import Box, end_tree, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
# The play waits for the box, then the box returns by itself; both are short here, and long enough for a slow boot.
SECONDS = {"timeout_seconds": 120, "confirm_seconds": 150}
PANICS = "sysctl -n kernel.softlockup_panic kernel.hung_task_panic kernel.hardlockup_panic"


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox) -> Iterator[Box]:
    """The box that this file works on."""
    yield shared_box(layout="switch")


def spec(*tokens: str) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs", *tokens]}, "boot": SECONDS}


def boots(box: Box) -> int:
    return box.console().count("Linux version ")


def receipt(box: Box) -> dict[str, Any]:
    return json.loads(box.ssh("cat /var/lib/tunecheck/receipt.json"))  # type: ignore[no-any-return]


def test_a_trial_without_sshd_returns_by_itself(lab: Box) -> None:
    """The play cannot reach the trial, waits, and says what happened. Nobody touches the box."""
    default = lab.ssh("cat /boot/grub/grub.cfg")
    lab.set_spec(spec("systemd.mask=ssh.service", "systemd.mask=ssh.socket"))
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc != 0 and "the trial was not confirmed within 150 s" in " ".join(run.stdout.split()), run
    assert boots(lab) == 3, "the trial and the way back"
    assert "was not committed within 150 s; this box returns to its old boot entry" in lab.console()
    assert "systemd.mask" not in lab.ssh("cat /proc/cmdline")
    assert lab.ssh("cat /boot/grub/grub.cfg") == default
    ended = json.loads(lab.ssh("cat /var/lib/tunecheck/trial-ended.json"))
    assert ended["reason"] == "not_confirmed"
    assert receipt(lab)["state"] == "reverted" and "by itself" in receipt(lab)["history"][-1]["note"]


def test_a_play_that_died_is_taken_up_in_the_trial_boot(lab: Box) -> None:
    """The control node dies during the reboot; the next play finds the trial and commits it, and the box stays."""
    lab.set_spec(spec())
    with lab.popen(*TRIAL, playbook=PLAY, start_new_session=True) as play:
        try:
            until(lambda: boots(lab) == 4 or play.poll() is not None, "the play never rebooted the box")
            assert play.poll() is None
        finally:
            end_tree(play.pid)
    lab.wait()
    assert "tunecheck.trial=" in lab.ssh("cat /proc/cmdline")
    assert lab.ssh("systemctl is-active tunecheck-trial.service").strip() == "active"
    assert lab.ssh(PANICS).split() == ["1"] * 3
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc == 0 and receipt(lab)["state"] == "committed", run
    until(lambda: lab.ssh("systemctl is-active tunecheck-trial.service", check=False).strip() == "inactive",
          "the guard went on after the commit", seconds=60)
    assert lab.ssh(PANICS).split() == ["0"] * 3
    assert lab.ssh("ls /var/lib/tunecheck").split().count("trial-ended.json") == 0
    # The deadline of the trial passes.
    deadline = SECONDS["confirm_seconds"] + 10
    until(lambda: float(lab.ssh("cat /proc/uptime").split()[0]) > deadline, "its clock stands", seconds=300)
    assert boots(lab) == 4
