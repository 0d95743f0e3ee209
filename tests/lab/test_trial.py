"""The trial boot: interrupted, refused while busy, unproven, panicking and out of reach. One VM, in this order."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.box import Box, end_tree, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")   # what stages, boots and proves; the whole play runs once, where it resumes
PANICS = "sysctl -n kernel.softlockup_panic kernel.hung_task_panic kernel.hardlockup_panic"


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox) -> Iterator[Box]:
    """The box that this file works on."""
    yield shared_box(layout="switch")


def spec(*tokens: str) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs", *tokens]}}


def receipt(box: Box) -> dict[str, Any]:
    return json.loads(box.ssh("cat /var/lib/tunecheck/receipt.json"))  # type: ignore[no-any-return]


def test_ctrl_c_between_staging_and_reboot(lab: Box) -> None:
    with lab.popen(playbook=PLAY, start_new_session=True) as play:
        try:
            until(lambda: lab.armed() or play.poll() is not None, "the play never staged the trial")
            assert play.poll() is None
            os.killpg(play.pid, signal.SIGINT)
            text, _ = play.communicate(timeout=60)
        finally:
            end_tree(play.pid)
        assert play.returncode != 0, text
    assert lab.boots() == 1 and lab.armed()
    assert "process" in lab.ssh("cat /var/lib/tunecheck/provision.lock"), "the interrupted play could not unlock"


def test_a_busy_box_is_not_rebooted(lab: Box) -> None:
    """The play takes over the dead play's lock, finds that a reboot would be needed, and refuses before it writes."""
    written = "cat /etc/tunecheck/spec.json /etc/default/grub.d/* /boot/grub/grub.cfg | sha256sum"
    before = lab.ssh(written)
    lab.set_spec(spec("tunecheck_lab.busy=1"))
    lab.ssh("touch /dev/nvidia0; nohup sleep 600 </dev/nvidia0 >/dev/null 2>&1 & echo $! >/run/user-of-gpu")
    run = lab.playbook(*TRIAL, playbook=PLAY)
    lab.ssh("kill $(cat /run/user-of-gpu); rm /dev/nvidia0")
    lab.set_spec(None)
    assert lab.ssh(written) == before
    assert "Nothing was written: this box would have to reboot" in run.stdout, run
    assert run.rc != 0 and "it is in use: sleep (pid" in run.stdout, run
    assert lab.boots() == 1 and lab.armed()


def test_a_control_node_that_dies_during_the_reboot(lab: Box) -> None:
    """The trial boot that was staged is taken, and its guard is up; nobody is there to prove it."""
    with lab.popen(*TRIAL, playbook=PLAY, start_new_session=True) as play:
        try:
            until(lambda: lab.boots() == 2 or play.poll() is not None, "the play never rebooted the box")
            assert play.poll() is None
        finally:
            end_tree(play.pid)
    lab.wait()
    assert "tunecheck.trial=" in lab.ssh("cat /proc/cmdline")
    assert lab.ssh("systemctl is-active tunecheck-trial.service").strip() == "active"
    assert lab.ssh(PANICS).split() == ["1", "1", "1"]


def test_the_next_run_resumes(lab: Box) -> None:
    """It proves and commits the trial boot that runs; the guard ends, and so does what only a trial boot has."""
    run = lab.playbook(playbook=PLAY)
    assert run.rc == 0, run
    assert lab.boots() == 2 and receipt(lab)["state"] == "committed"
    until(lambda: lab.ssh("systemctl is-active tunecheck-trial.service", check=False).strip() == "inactive",
          "the guard goes on after the commit", seconds=60)
    assert lab.ssh(PANICS).split() == ["0", "0", "0"]


def test_a_trial_that_comes_up_with_acs_on_is_not_committed(lab: Box) -> None:
    """Something sets the bits back behind our backs, as an AER recovery does."""
    lab.ssh("printf '[Unit]\\nAfter=tunecheck-acs.service\\nBefore=ssh.service\\n[Service]\\nType=oneshot\\n"
            "ExecStart=setpci -s 02:00.0 ECAP_ACS+6.w=001d\\n' >/etc/systemd/system/spoil.service; "
            "ln -sf ../spoil.service /etc/systemd/system/multi-user.target.wants/spoil.service")
    default = lab.ssh("cat /boot/grub/grub.cfg")
    lab.set_spec(spec("tunecheck_lab.x=1"))
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc != 0 and "behaviour layer, fail" in run.stdout and "0000:02:00.0" in run.stdout, run
    assert "state: reverted" in run.stdout and "Console:" in run.stdout
    assert lab.boots() == 3 and receipt(lab)["state"] == "reverted"
    assert "tunecheck_lab.x=1" in lab.ssh("cat /proc/cmdline"), "it still runs the trial"
    assert lab.ssh("cat /boot/grub/grub.cfg") == default and not lab.armed()


def test_the_next_boot_is_the_old_entry(lab: Box) -> None:
    lab.reboot("rm /etc/systemd/system/spoil.service /etc/systemd/system/multi-user.target.wants/spoil.service; sync; "
               "systemd-run --on-active=1 systemctl reboot --force")
    assert lab.boots() == 4
    line = lab.ssh("cat /proc/cmdline")
    assert "tunecheck_lab.x=1" not in line and "tunecheck.trial" not in line and "disable_acs_redir" in line


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    """rdinit= skips the initramfs, so that the missing root file system and init really panic the kernel.

    init= alone does not: Debian's initramfs finds it missing and starts /sbin/init instead."""
    before = lab.ssh("cat /boot/grub/grub.cfg")
    lab.set_spec(spec("rdinit=/nonexistent", "init=/nonexistent"), boot_trial_console_log="the lab's console.log")
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc != 0 and "came back on its old boot entry" in run.stdout, run
    assert "the lab's console.log" in run.stdout
    assert "Kernel panic" in lab.console()
    assert lab.boots() == 6, "the trial and the way back"
    assert "nonexistent" not in lab.ssh("cat /proc/cmdline")
    assert receipt(lab)["state"] == "reverted"
    assert lab.ssh("cat /boot/grub/grub.cfg") == before and not lab.armed()


def test_a_trial_without_sshd_returns_by_itself(lab: Box) -> None:
    """Nobody can reach the trial boot. The guard ends it, the play waits for that and says it, and so does the box."""
    before = lab.ssh("cat /boot/grub/grub.cfg")
    lab.set_spec({**spec("systemd.mask=ssh.service", "systemd.mask=ssh.socket"),
                  "boot": {"timeout_seconds": 100, "confirm_seconds": 101}})
    run = lab.playbook(*TRIAL, playbook=PLAY)
    assert run.rc != 0 and "the trial was not confirmed within 101 s" in " ".join(run.stdout.split()), run
    assert "was not committed within 101 s; this box returns to its old boot entry" in lab.console()
    assert lab.boots() == 8, "the trial and the way back"
    assert "systemd.mask" not in lab.ssh("cat /proc/cmdline")
    assert receipt(lab)["state"] == "reverted" and "by itself" in receipt(lab)["history"][-1]["note"]
    assert lab.ssh("cat /boot/grub/grub.cfg") == before and not lab.armed()
    found = json.loads(lab.ssh("tunecheck host --json", check=False))["findings"]
    assert [each["code"] for each in found if each["id"] == "trial-boot"] == ["not-confirmed"]
