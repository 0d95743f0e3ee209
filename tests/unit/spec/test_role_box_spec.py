"""Role box_spec through ansible-playbook: facts set, refusals readable, nothing written to the box before."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.play_environment import environment

REPOSITORY = Path(__file__).parents[3]
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
TASKS = yaml.safe_load((REPOSITORY / "roles/box_spec/tasks/main.yml").read_text(encoding="utf-8"))
PLAY = """
- hosts: all
  gather_facts: false
  become: false
  roles: [box_spec]
  tasks:
    - name: Show the facts
      ansible.builtin.debug:
        msg: "{{ box_spec_frozen.digest }} newline={{ box_spec_frozen_json.endswith('}' ~ '\\n') }}"
    - name: Write the box
      ansible.builtin.copy: {content: "{{ box_spec_frozen_json }}", dest: "{{ target }}", mode: "0644"}
"""

pytestmark = [
    pytest.mark.skipif(not PLAYBOOK.exists(), reason="ansible-playbook is not installed in this environment"),
    pytest.mark.skipif(
        not (REPOSITORY / "checks/tunecheck/__main__.py").exists(), reason="python -m tunecheck does not exist yet"
    ),
]


def play(tmp_path: Path, variables: str, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    target = tmp_path / "spec.json"
    inventory = tmp_path / "inventory"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts.yml").write_text(
        f"all: {{hosts: {{box1: {{ansible_connection: local, ansible_python_interpreter: {sys.executable}}}}}}}\n",
        encoding="utf-8",
    )
    (inventory / "group_vars" / "all.yml").write_text(f"target: {target}\n{variables}", encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    done = subprocess.run(
        [PLAYBOOK, "-i", inventory, tmp_path / "play.yml", *arguments],
        cwd=REPOSITORY,
        env=environment(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done, target


def _task(action: str) -> dict[str, Any]:
    """The role's one task that does this."""
    found, = (each for each in TASKS if action in each)
    return found


def test_facts_hold_the_exact_text(tmp_path: Path) -> None:
    done, target = play(tmp_path, "box_spec: {profile: lab}\n")
    assert done.returncode == 0, done.stdout + done.stderr
    frozen = subprocess.run(
        [sys.executable, "-m", "tunecheck", "spec", "freeze", "--host", "box1"],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY / "checks")},
        input='{"box_spec": {"profile": "lab"}}', capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert target.read_text(encoding="utf-8") == frozen
    assert "newline=True" in done.stdout


def test_check_mode_freezes_too(tmp_path: Path) -> None:
    done, target = play(tmp_path, "box_spec: {profile: lab}\n", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sha256:" in done.stdout
    assert not target.exists()


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        pytest.param("", "host_vars/box1.yml", id="host-without-a-spec"),
        pytest.param("box_spec: {profile: lab, iommu: off}\n", 'box_spec.iommu: YAML', id="off-unquoted"),
        pytest.param("box_spec: lab\n", "box_spec: \\S[^;]*\\('lab'\\)", id="not-a-mapping"),
        pytest.param("box_spec: {profile: lab}\nbox_spec:\n  profile: b200-hgx\n",
                     r"group_vars/all\.yml:3: box_spec stands here again, and in line 2", id="key-twice"),
        pytest.param("box_spec: {profile: lab}\nbox_spec_host: {acs: {typo: 1}}\n", "box_spec_host\\.acs\\.typo: ",
                     id="host-layer"),
    ],
)
def test_refused_before_the_first_write(tmp_path: Path, variables: str, says: str) -> None:
    done, target = play(tmp_path, variables)
    assert done.returncode == 2
    assert re.search(says, done.stdout + done.stderr)
    first = _task("ansible.builtin.fail")["ansible.builtin.fail"]["msg"].partition("{{")[0]
    assert first.strip() and first.strip() in done.stdout + done.stderr, "that nothing was written"
    assert not target.exists()


def test_runs_with_any_tag(tmp_path: Path) -> None:
    done, _ = play(tmp_path, "box_spec: {profile: lab}\n", "--tags", "acs")
    assert f"TASK [box_spec : {_task('ansible.builtin.set_fact')['name']}]" in done.stdout, done.stdout + done.stderr
