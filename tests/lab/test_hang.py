"""What hangs ends by itself: the whole box, emergency mode, a shutdown. One VM with a hardware watchdog."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab import hanging
from tests.lab.box import Box, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox) -> Iterator[Box]:
    """The box that this file works on."""
    yield shared_box(layout="switch", watchdog=True)


def spec(*tokens: str, **seconds: int) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs", *tokens]}, "boot": {"timeout_seconds": 120, **seconds}}


def test_the_plan_names_the_watchdog(lab: Box) -> None:
    run = lab.playbook("--check", *TRIAL, playbook=PLAY)
    shown = " ".join(run.stdout.split())
    assert "if the trial hangs: i6300ESB timer (/dev/watchdog0) restarts it" in shown, run


def test_a_silent_hang_ends_by_the_watchdog(lab: Box) -> None:
    """Its deadline is an hour away: only the watchdog can have ended it."""
    hanging.install(lab, watchdog=True)
    lab.set_spec(spec("tunecheck_lab.hang=1", confirm_seconds=3600))
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert hanging.HANGS_NOW in lab.console()
    assert run.rc != 0 and "it panicked, hung or was power-cycled, or" in " ".join(run.stdout.split()), run
    assert lab.boots() == 3 and "tunecheck.trial" not in lab.ssh("cat /proc/cmdline")
    ended = json.loads(lab.ssh("cat /var/lib/tunecheck/trial-ended.json"))
    assert ended["reason"] == "did_not_come_up"


def test_emergency_mode_returns_by_itself(lab: Box) -> None:
    """Its root file system stays read-only: the guard ends it, says so on the console and can leave no file."""
    lab.set_spec(spec("systemd.unit=emergency.target", confirm_seconds=130))
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc != 0 and "or it ended in emergency mode" in " ".join(run.stdout.split()), run
    assert "was not committed within 130 s; this box returns to its old boot entry" in lab.console()
    assert lab.boots() == 5 and "emergency" not in lab.ssh("cat /proc/cmdline")


def test_a_commit_lets_the_watchdog_go(lab: Box) -> None:
    """The trial boot goes on as the box's ordinary boot, and a second run changes nothing."""
    lab.set_spec(spec())
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc == 0 and "until the next boot" not in run.stdout, str(run)
    assert "systemd.watchdog_sec=60" in lab.ssh("cat /proc/cmdline")
    assert lab.ssh("cat /sys/class/watchdog/watchdog0/state").strip() == "inactive"
    again = lab.playbook(*TRIAL, playbook=PLAY)
    assert again.rc == 0 and "changed=0 " in again.stdout and lab.boots() == 6, str(again)


def test_a_shutdown_that_hangs_is_forced(lab: Box) -> None:
    """A unit that never stops holds the orderly reboot for ever; after 300 s it is forced."""
    hanging.write(lab, "/etc/systemd/system/stuck.service",
          "[Service]\nExecStart=sleep infinity\nExecStop=sleep infinity\nTimeoutStopSec=infinity\n")
    before = lab.boot_id()
    lab.ssh("systemctl start stuck.service && systemctl --no-block start tunecheck-reboot.service")
    until(lambda: lab.boots() == 7, "the reboot was never forced", seconds=900)
    assert "the reboot did not end within 300 s; it is forced now" in lab.console()
    lab.wait()
    assert lab.boot_id() != before
