"""An inventory with a slip that operators make: the play writes nothing, and says in one plain sentence what is wrong
and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.play_environment import environment
from tests.roles.plays import ROOT

HOSTS = json.dumps({"all": {"children": {"gpu": {"hosts": {"box1": {
    "ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}}}}}})
SPEC = "box_spec: {profile: lab}\n"


def _said(tmp_path: Path, files: dict[str, str], playbook: str) -> tuple[int, str, str]:
    root = tmp_path / "inv"
    for name, text in {"hosts.yml": HOSTS, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "--check", "-i", str(root)]
    done = subprocess.run(argv, cwd=ROOT, env=environment(COLUMNS="120"), text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, check=False)
    return (done.returncode, " ".join(done.stderr.split()).replace(str(root), "inv"),
            " ".join(done.stdout.partition("PLAY RECAP ***")[2].split()).replace(str(root), "inv"))


@pytest.mark.parametrize(("files", "warned", "planned"), [
    ({}, "", "box_spec: host box1 has none; put `box_spec: {profile: <name>}` into group_vars/<group>.yml or"),
    ({"group_vars/gpus.yml": SPEC}, "no group of this inventory is called gpus, so its variables have no effect; if it "
     "is meant for gpu: mv inv/group_vars/gpus.yml inv/group_vars/gpu.yml",
     "not read: inv/group_vars/gpus.yml: no group"),
    ({"host_vars/bxo1.yml": SPEC}, "no host of this inventory is called bxo1, so its variables have no effect; if "
     "it is meant for box1: mv inv/host_vars/bxo1.yml inv/host_vars/box1.yml",
     "not read: inv/host_vars/bxo1.yml: no host"),
    ({"group_vars/gpu.yml": "box_spce: {profile: lab}\n"}, "box_spce has no effect; did you mean box_spec?",
     "box_spec: host box1 has none"),
    ({"group_vars/gpu.yml": 'box_spec: {profile: "{{ nope }}"}\n'}, "", "'nope' is undefined")])
def test_a_box_whose_variables_are_refused_has_closing_words(tmp_path: Path, files: dict[str, str], warned: str,
                                                             planned: str) -> None:
    code, stderr, plan = _said(tmp_path, files, "site.yml")
    assert code == 2 and warned in stderr, stderr
    assert "no plan for box1: its variables are refused, and nothing was written" in plan
    assert planned in plan and plan.endswith("next: mend what is refused, then run this again"), plan


@pytest.mark.parametrize("playbook", ["site.yml", "playbooks/rollback.yml"])
@pytest.mark.parametrize(("files", "code", "says"), [
    ({"group_vars/gpu.yml": "box_spec: {profile: lab\n"}, 4, "the inventory's variables cannot be read, so nothing was "
     "done: inv/group_vars/gpu.yml:2: expected ',' or '}', but got '<stream end>'; mend that file, then run this "
     "again"),
    ({"group_vars/gpu.yml": "- box_spec: lab\n"}, 4, "so nothing was done: inv/group_vars/gpu.yml:1: here stands no "
     "name of a variable; expected a mapping, as `box_spec:` with its keys indented below; mend that file"),
    ({"hosts.yml": ""}, 2, "there is no host, so nothing was done: inv holds none; expected all:, below it hosts:"),
    ({"hosts.yml": "hosts: {box1: {}}\n"}, 2, "there is no host, so nothing was done: inv holds none; expected all:")])
def test_an_inventory_that_cannot_be_used_is_one_sentence(tmp_path: Path, playbook: str, files: dict[str, str],
                                                          code: int, says: str) -> None:
    found, stderr, _ = _said(tmp_path, files, playbook)
    assert found == code and says in stderr and stderr.count("[ERROR]") == 1, stderr
