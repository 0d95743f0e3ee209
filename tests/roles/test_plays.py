"""Plays that need no box: nobody answers, or the box is the control node itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def play(tmp_path: Path, playbook: str, host: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"box": host}}}))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory), *arguments]
    return subprocess.run(argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


def test_an_unreachable_box_is_said_and_fails(tmp_path: Path) -> None:
    # Port 9 (discard) of this machine: refused at once.
    host = {"ansible_host": "127.0.0.1", "ansible_port": 9, "box_spec": {"profile": "lab"}}
    done = play(tmp_path, "site.yml", host)
    assert done.returncode == 4 and "UNREACHABLE" in done.stdout and "Connection refused" in done.stdout, done.stdout
    assert "changed=0" in done.stdout


@pytest.mark.parametrize(
    ("host", "arguments", "reason"),
    [
        ({"ansible_connection": "local"}, [], "local connection"),
        ({"boot_trial_reboot": "never"}, ["--check"], "box_spec.boot.reboot: never"),
    ],
)
def test_a_reboot_that_may_not_happen_is_left_pending(
        tmp_path: Path, host: dict[str, object], arguments: list[str], reason: str) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "roles": ["boot_trial"],
        "vars": {
            "ansible_connection": "local", "kernel_cmdline_phase": "staged", "kernel_modules_pending": [],
            "kernel_cmdline_merged": ["pci=noacs"], "kernel_cmdline_trial_id": "abc", "pcie_acs_registers": {},
            # The receipt already tells it: nothing is written.
            "box_info": {"receipt": {"spec_digest": "d"}},
            "box_spec_frozen": {"digest": "d", "spec": {"boot": {
                "reboot": "auto", "reboot_when_busy": False, "timeout_seconds": 60}}},
        }}]))
    done = play(tmp_path, str(playbook), host, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reboot pending: a trial boot is staged" in done.stdout and "changed=0" in done.stdout
    assert " ".join(f"({reason})".split()) in " ".join(done.stdout.split())


def test_no_tag_leaves_a_role_without_what_another_one_hands_it() -> None:
    """Roles validate their arguments under every tag, so what another role sets needs a default there; and where
    kernel_cmdline works, pcie_acs must have run, or its tokens would be taken away."""
    block = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())[0]["tasks"][1]["block"]
    tags = {each["ansible.builtin.import_role"]["name"]: set(each["tags"]) for each in block
            if "ansible.builtin.import_role" in each}
    assert tags["kernel_cmdline"] == tags["pcie_acs"]
    for role in tags:
        defaults = (ROOT / f"roles/{role}/defaults/main.yml").read_text()
        for other in tags.keys() - {role, "box_spec"}:     # that one runs under every tag
            handed = re.findall(rf"\b{other}_\w+(?! *\| *default| *\w)", defaults)
            assert not handed, f"{role} needs {handed} of {other} without a default"
