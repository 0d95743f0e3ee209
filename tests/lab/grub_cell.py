"""What a box with GRUB goes through in its cell of the matrix: the same steps in each."""

from __future__ import annotations

import json
from typing import Any

from tests.lab.boot_files import GRUB, with_esp
from tests.lab.box import Box, end_tree, until

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
#: Without KVM, on a machine that is busy with other boxes.
SECONDS = 1800
PORTS = ("0000:02:00.0", "0000:02:01.0")
#: What says that the trial is booted next, and what shows it: GRUB's own variable, or the firmware's.
ARMED = "next_entry=tunecheck-trial"
SHOW_ARMED = "grub-editenv list"
BOOT_NEXT_ARMED = "BootNext:"
SHOW_BOOT_NEXT = "efibootmgr"


def files(box: Box) -> str:
    """What GRUB shows now."""
    return box.ssh(with_esp(GRUB), timeout=600)


def spec(*tokens: str, **more: Any) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs", *tokens]}, **more}


def receipt(box: Box) -> dict[str, Any]:
    return json.loads(box.ssh("cat /var/lib/tunecheck/receipt.json"))  # type: ignore[no-any-return]


def acs(box: Box) -> list[str]:
    """ACSCtl of the ports between the accelerators."""
    return [box.ssh(f"setpci -s {port} ECAP_ACS+6.w").strip() for port in PORTS]


def assert_unchanged(box: Box, before: str) -> None:
    """Say which files and entries differ from what GRUB showed before."""
    differ = sorted(set(before.splitlines()) ^ set(files(box).splitlines()))
    assert not differ, differ


def a_good_trial_commits(
    box: Box, wanted: dict[str, Any], armed: str = ARMED, show: str = SHOW_ARMED,
) -> str:  # fmt: skip
    """site.yml as a whole: the default entry is what it was until the trial has proven itself. ``show`` on the box says
    ``armed`` while the trial is booted next. Returns the play's output."""
    before, begun = box.ssh("sed -n '/^menuentry/,/^}/p' /boot/grub/grub.cfg"), box.boots()
    box.set_spec(wanted)
    with box.popen(start_new_session=True) as play:
        try:
            # A box without KVM that is asked all the time has no time for the play.
            until(lambda: armed in box.ssh(f"sleep 10; {show}") or play.poll() is not None,
                  "the play never staged the trial", seconds=SECONDS)
            assert play.poll() is None and box.ssh("sed -n '/^menuentry/,/^}/p' /boot/grub/grub.cfg").startswith(before)
            text, _ = play.communicate(timeout=SECONDS)
        except BaseException:
            end_tree(play.pid)
            raise
    assert play.returncode == 0, text
    assert box.boots() == begun + 1 and "tunecheck.trial=" in box.ssh("cat /proc/cmdline")
    assert receipt(box)["state"] == "committed" and armed not in box.ssh(show)
    generated = box.ssh("cat /boot/grub/grub.cfg")
    assert "disable_acs_redir" in generated and "tunecheck.trial" not in generated
    assert all(int(value, 16) & 0x2C == 0 for value in acs(box))
    return text


def a_second_run_changes_nothing(box: Box) -> None:
    before, begun = files(box), box.boots()
    run = box.playbook(timeout=SECONDS)
    assert run.rc == 0 and "changed=0 " in run.stdout and box.boots() == begun, run
    assert_unchanged(box, before)


def a_panic_returns_by_itself(box: Box, wanted: dict[str, Any]) -> None:
    before, begun, console = files(box), box.boots(), len(box.console())
    box.set_spec(wanted)
    run = box.playbook(*TRIAL, playbook=PLAY, timeout=SECONDS)
    assert run.rc != 0 and "came back on its old boot entry" in " ".join(run.stdout.split()), run
    assert "Kernel panic" in box.console()[console:] and box.boots() == begun + 2, "the trial and the way back"
    line = box.ssh("cat /proc/cmdline")
    assert "nonexistent" not in line and "tunecheck.trial" not in line and "disable_acs_redir" in line
    assert (state := receipt(box)["state"]) == "reverted", state
    assert_unchanged(box, before)
    assert all(int(value, 16) & 0x2C == 0 for value in acs(box))


def rollback_restores_every_boot_file(box: Box, first: str) -> None:
    run = box.playbook(playbook="playbooks/rollback.yml", timeout=SECONDS)
    assert run.rc == 0, run
    assert_unchanged(box, first)
