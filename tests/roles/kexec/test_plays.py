"""What the role boot_trial says of a trial by kexec: its own tasks, run alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[3]


def said(folder: Path, file: str, task: str, variables: dict[str, Any]) -> str:
    """What one task of the role says."""
    def tasks(part: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for one in part for each in [one, *tasks(one.get("block", []))]]

    held = yaml.safe_load((ROOT / "roles/boot_trial/tasks" / file).read_text())
    found = next(each for each in tasks(held) if each.get("name") == task)
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": False,
                                                  "connection": "local", "vars": variables, "tasks": [found]}]))
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"box": {
        "ansible_python_interpreter": sys.executable}}}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(folder / "play.yml"), "-i",
            str(folder / "hosts.yml")]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(("one_shot", "says"), [
    ("kexec", ["kexec starts it in a reboot by a play", "-e boot_trial_reboot=auto"]),
    ("next-entry", ["is taken by the next reboot, once", "Reboot it, then run this play again within 900 s: it"])])
def test_a_reboot_that_is_left_to_somebody(tmp_path: Path, one_shot: str, says: list[str]) -> None:
    text = said(tmp_path, "not_now.yml", "Say that a reboot is pending", {
        "kernel_cmdline_phase": "staged", "kernel_cmdline_one_shot_code": one_shot, "boot_trial_reboot": "never",
        "boot_trial_confirm_seconds": 900, "boot_trial_may_reboot": False})
    assert "reboot pending: a trial boot is staged" in text and all(each in text for each in says), text
    assert ("Reboot it" in text) is (one_shot != "kexec")


@pytest.mark.parametrize("by_kexec", [True, False])
def test_a_trial_that_is_not_proven(tmp_path: Path, by_kexec: bool) -> None:
    text = said(tmp_path, "not_proven.yml", "Fail with the layers that do not hold", {
        "boot_trial_on_trial": True, "boot_trial__given_up": {"by_kexec": by_kexec, "returns_in": 60},
        "boot_trial_broken": [{"layer": "behaviour", "outcome": "fail", "message": "acs-redirect: on"}],
        "boot_trial__proof": {"rc": 1, "stderr": ""}, "boot_trial_console_log": "ttyS0"})
    assert "- behaviour layer, fail: acs-redirect: on" in text and "by itself in 60 s" in text, text
    assert ("kexec, which resets no device" in text) is by_kexec


@pytest.mark.parametrize("one_shot", ["kexec", "boot-next"])
def test_a_trial_that_did_not_come_up(tmp_path: Path, one_shot: str) -> None:
    text = said(tmp_path, "fell_back.yml", "Fail with what happened", {
        "boot_trial__after": {"boot_id": "b"}, "boot_trial__not_confirmed": False, "boot_trial_confirm_seconds": 900,
        "kernel_cmdline_one_shot_code": one_shot, "kernel_cmdline_merged": ["a"], "boot_trial_console_log": "ttyS0"})
    assert "came back on its old boot entry (boot b)" in text and "(900 s) ended it" in text, text
    assert ("or kexec did not start it" in text) is (one_shot == "kexec")
