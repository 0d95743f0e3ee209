"""What is judged before the first write, which role hands what to which, and when no reboot happens."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.roles.plays import ROOT, play


def _with_included(tasks: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """The tasks, each that includes a file replaced by that file's. It has the tags of all of them: under any other tag
    they would be passed over."""
    for task in tasks:
        if "ansible.builtin.include_tasks" not in task:
            yield task
            continue
        path = folder / task["ansible.builtin.include_tasks"]
        inside = yaml.safe_load(path.read_text())
        assert set(task["tags"]) == {tag for each in inside for tag in each["tags"]}, path
        yield from _with_included(inside, path.parent)


def test_what_speaks_against_a_run_is_judged_before_anything_is_written() -> None:
    """Everything before the checker's installation reads, refuses, or asks a role in check mode; and each question is
    asked under every tag under which its role would work."""
    block = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())[1]["tasks"][1]["block"]
    names = [each["name"] for each in block]
    ahead = list(_with_included(block[:names.index("Install the checker")], ROOT / "playbooks"))
    tags = {each["ansible.builtin.import_role"]["name"]: each["tags"] for each in block
            if "ansible.builtin.import_role" in each}
    asked = {}
    for task in ahead[2:]:
        if not {"ansible.builtin.fail", "ansible.builtin.debug"} & task.keys():
            assert task["ansible.builtin.include_role"]["apply"]["check_mode"] is True, task
            asked[task["ansible.builtin.include_role"]["name"]] = task["tags"]
    assert [name.partition("{{")[0] for name in names[:2]] == ["Take the lock", "Read the few facts that decide"]
    assert asked == {role: tags[role] for role in ("pcie_acs", "kernel_modules", "nvidia_driver", "kernel_cmdline")}
    refusals = {task["name"]: task["tags"] for task in ahead if "ansible.builtin.fail" in task}
    assert refusals["Refuse a box whose boot loader cannot be driven"] == tags["kernel_cmdline"]
    assert refusals["Refuse a box that lacks a program of its boot loader"] == tags["kernel_cmdline"]
    assert set(refusals["Refuse a box that lacks a program for modules or the driver"]) >= {
        *tags["kernel_modules"], *tags["nvidia_driver"]} - {"acs", "cmdline"}
    assert refusals["Refuse to begin what needs a reboot on a box that is in use"] == tags["boot_trial"]


def boot_trial(tmp_path: Path, host: dict[str, object], **variables: object) -> subprocess.CompletedProcess[str]:
    """The role boot_trial alone, on a box with a staged trial whose receipt already tells it: nothing is written."""
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "roles": ["boot_trial"],
        "vars": {
            "ansible_connection": "local", "kernel_cmdline_phase": "staged", "kernel_modules_pending": [],
            "kernel_cmdline_merged": ["pci=noacs"], "kernel_cmdline_trial_id": "abc", "pcie_acs_registers": {},
            "box_info": {"receipt": {"spec_digest": "d"}},
            "box_spec_frozen": {"digest": "d", "spec": {"boot": {
                "reboot": "auto", "reboot_when_busy": False, "timeout_seconds": 60}}},
            **variables,
        }}]))
    return play(tmp_path, str(playbook), host)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ({"ansible_connection": "local"}, "local connection"),
        ({"boot_trial_reboot": "never"}, "box_spec.boot.reboot: never"),
    ],
)
def test_a_reboot_that_may_not_happen_is_left_pending(
        tmp_path: Path, host: dict[str, object], reason: str) -> None:
    done = boot_trial(tmp_path, host)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reboot pending: a trial boot is staged" in done.stdout and "changed=0" in done.stdout
    said = " ".join(done.stdout.split())
    assert " ".join(f"({reason})".split()) in said
    assert "run this play again within 360 s" in said, "300 s more than the play would wait"


def test_a_deadline_within_the_wait_is_refused_before_the_reboot(tmp_path: Path) -> None:
    """A role variable gets past the specification's own refusal."""
    done = boot_trial(tmp_path, {"ansible_connection": "local"}, kernel_cmdline_confirm=60)
    assert done.returncode != 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "would return to its old entry after 60 s, and this play waits 60 s for the box" in said
    assert "nothing was rebooted" in said


def test_no_tag_leaves_a_role_without_what_another_one_hands_it() -> None:
    """Roles validate their arguments under every tag, so what another role sets needs a default there; and where
    kernel_cmdline works, pcie_acs must have run, or its tokens would be taken away."""
    block = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())[1]["tasks"][1]["block"]
    tags = {each["ansible.builtin.import_role"]["name"]: set(each["tags"]) for each in block
            if "ansible.builtin.import_role" in each}
    assert tags["kernel_cmdline"] == tags["pcie_acs"]
    for role in tags:
        defaults = (ROOT / f"roles/{role}/defaults/main.yml").read_text()
        for other in tags.keys() - {role, "box_spec"}:     # that one runs under every tag
            handed = re.findall(rf"\b{other}_\w+(?! *\| *default| *\w)", defaults)
            assert not handed, f"{role} needs {handed} of {other} without a default"
