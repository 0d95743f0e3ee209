"""The rollout of playbooks/provision.yml: its batches, what stops it, how it goes on. The real play, run by the real
ansible-playbook on local connections; only what it would do to a box is replaced by a file with the box's name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [f"box{number}" for number in range(1, 6)]      # batches of 1, 1 (a tenth is less than one), 2 and 1


class Rollout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        play, = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
        work, stop = play["tasks"][1:]
        touched = {"name": "Work", "ansible.builtin.command": {
            "cmd": f"touch {folder}/{{{{ inventory_hostname }}}}", "creates": f"{folder}/{{{{ inventory_hostname }}}}"}}
        proof = {"name": "Prove", "ansible.builtin.fail": {"msg": "a check failed"},
                 "when": "inventory_hostname in bad"}
        # What fails away from the box: no task of the play may mind that it is gone.
        gone = {"name": "Lose", "ansible.builtin.command": "true", "changed_when": False, "vars": {
            "ansible_connection": "{{ 'ssh' if inventory_hostname in lost else 'local' }}",
            "ansible_host": "127.0.0.1", "ansible_port": 9}}
        release = {"name": "Release", "changed_when": False,
                   "ansible.builtin.command": {"cmd": f"touch {folder}/{{{{ inventory_hostname }}}}.free"}}
        work |= {"block": [touched, gone, proof], "always": [release]}
        later = {"hosts": "all", "gather_facts": False, "become": False, "connection": "local",
                 "tasks": [{"name": "Serve", "ansible.builtin.debug": {"msg": "handed over"}}]}
        (folder / "play.yml").write_text(json.dumps([play | {"tasks": [work, stop], "become": False,
                                                             "connection": "local"}, later]))

    def run(self, bad: tuple[str, ...] = (), lost: tuple[str, ...] = (), *arguments: str) -> tuple[int, str]:
        """Exit code, and the output as one line."""
        argv = [str(Path(sys.executable).parent / "ansible-playbook"), "play.yml", "-i", ",".join(HOSTS) + ",",
                "-e", json.dumps({"bad": bad, "lost": lost, "ansible_python_interpreter": sys.executable}), *arguments]
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "1"}
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment, timeout=120, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def touched(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("box?"))


def test_the_batches_are_a_canary_a_tenth_and_halves() -> None:
    play, = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    assert "[1, '10%', '50%']" in play["serial"] and play["max_fail_percentage"] == 0
    names = [task["name"] for task in play["tasks"][1]["block"]]
    assert names[-1] == "Prove the box before the next batch", "nothing comes behind the proof"


def test_a_failed_canary_stops_the_rest_and_says_why(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    code, text = rollout.run(bad=("box1",))
    assert code == 2 and rollout.touched() == ["box1"]
    assert 'the rollout stops at box1: "Prove" failed (a check failed). Not touched: 4 of 5 boxes' in text
    assert "run the same command again" in text and "handed over" not in text
    assert (tmp_path / "box1.free").exists(), "the lock is released"


def test_a_failure_in_a_later_batch_stops_what_is_behind_it_and_leaves_no_box_half_done(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    code, text = rollout.run(bad=("box3",))
    assert code == 2 and rollout.touched() == ["box1", "box2", "box3", "box4"]
    assert "Not touched: 1 of 5 boxes box5" in text and "the rollout stops: box3 failed" in text
    assert all((tmp_path / f"{box}.free").exists() for box in rollout.touched())
    assert "handed over" not in text
    # Mended: the same command takes up where it stopped; what was done changes nothing.
    code, text = rollout.run()
    assert code == 0 and rollout.touched() == HOSTS and text.count("handed over") == len(HOSTS)
    for box in HOSTS:
        assert f"{box} : ok=4 changed={int(box == 'box5')} " in text


def test_a_box_that_is_lost_on_the_way_stops_the_rest(tmp_path: Path) -> None:
    """Ansible counts only failed boxes towards max_fail_percentage, and a box that panicked is unreachable."""
    rollout = Rollout(tmp_path)
    code, text = rollout.run(lost=("box3",))
    assert code != 0 and "box5" not in rollout.touched()
    assert "the rollout stops: box3 failed or cannot be reached" in text and "-l 'all:!box3'" in text
    code, _ = rollout.run((), ("box3",), "-l", "all:!box3")
    assert code == 0 and rollout.touched() == HOSTS
