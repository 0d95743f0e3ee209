"""The rollout of playbooks/provision.yml: its batches, what stops it, how it goes on. The real play, run by the real
ansible-playbook on local connections; only what it would do to a box is replaced by a file with the box's name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [f"box{number}" for number in range(1, 6)]      # batches of 1, 1 (a tenth is less than one), 2 and 1


class Rollout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        choose, play, end = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
        work, *last = play["tasks"][1:]
        self.inventory = folder / "inventory.yml"
        self.inventory.write_text(json.dumps({"all": {"hosts": {box: {} for box in HOSTS}}}))
        touched = {"name": "Work", "ansible.builtin.command": {
            "cmd": f"touch {folder}/{{{{ inventory_hostname }}}}", "creates": f"{folder}/{{{{ inventory_hostname }}}}"}}
        proof = {"name": "Prove", "ansible.builtin.fail": {"msg": "a check failed"},
                 "when": f"inventory_hostname in bad or ('{folder}/' ~ inventory_hostname ~ '.bad') is exists"}
        # What fails away from the box: no task of the play may mind that it is gone.
        gone = {"name": "Lose", "ansible.builtin.command": "true", "changed_when": False, "vars": {
            "ansible_connection": "{{ 'ssh' if inventory_hostname in lost else 'local' }}",
            "ansible_host": "127.0.0.1", "ansible_port": 9}}
        release = {"name": "Release", "changed_when": False,
                   "ansible.builtin.command": {"cmd": f"touch {folder}/{{{{ inventory_hostname }}}}.free"}}
        work |= {"block": [touched, gone, proof], "always": [release]}
        later, = yaml.safe_load((ROOT / "playbooks/handoff.yml").read_text())
        later |= {"become": False, "connection": "local", "tasks": [
            *later["tasks"][:-1], {"name": "Serve", "ansible.builtin.debug": {"msg": "serves now"}}]}
        plays = [choose | {"become": False}, play | {"tasks": [work, *last], "become": False, "connection": "local"},
                 end | {"become": False}]
        (folder / "play.yml").write_text(json.dumps([*plays, later]))
        (folder / "tasks").symlink_to(ROOT / "playbooks/tasks")

    def run(self, bad: tuple[str, ...] = (), lost: tuple[str, ...] = (), *arguments: str) -> tuple[int, str]:
        """Exit code, and the output as one line."""
        argv, variables = self.command(bad, lost, *arguments)
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=variables, timeout=120, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def command(self, bad: tuple[str, ...] = (), lost: tuple[str, ...] = (),
                *arguments: str) -> tuple[list[str], dict[str, str]]:
        given = {"bad": bad, "lost": lost, "ansible_python_interpreter": sys.executable, "inference_recipe": "any"}
        return ([str(Path(sys.executable).parent / "ansible-playbook"), "play.yml", "-i", str(self.inventory),
                 "-e", json.dumps(given), *arguments],
                environment(ANSIBLE_CONFIG="ansible.cfg", XDG_STATE_HOME=str(self.folder / "state"),
                            ANSIBLE_ACTION_PLUGINS=str(ROOT / "playbooks/action_plugins")))

    def say(self, **variables: object) -> None:
        """Set variables for all boxes in the inventory."""
        self.inventory.write_text(json.dumps({"all": {"hosts": {box: {} for box in HOSTS}, "vars": variables}}))

    def touched(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("box?"))


def failed(text: str) -> set[str]:
    """The boxes that Ansible's recap counts as failed."""
    return set(re.findall(r"(\w+) : ok=\d+ changed=\d+ unreachable=\d+ failed=[1-9]", text))


def test_the_batches_are_a_canary_a_tenth_and_halves() -> None:
    _, play, _ = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    assert "[1, '10%', '50%']" in play["serial"] and "max_fail_percentage" not in play
    names = [task["name"] for task in play["tasks"][1]["block"]]
    assert names[-1] == "Prove the box before the next batch", "nothing comes behind the proof"


def test_a_failed_canary_stops_the_rest_and_says_why(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    code, text = rollout.run(bad=("box1",))
    assert code == 2 and rollout.touched() == ["box1"]
    assert 'the rollout stops at box1: "Prove" failed (a check failed). Not touched: 4 of 5 boxes' in text
    assert "run the same command again" in text and "serves now" not in text
    assert (tmp_path / "box1.free").exists(), "the lock is released"


def test_a_failure_in_a_later_batch_stops_what_is_behind_it_and_leaves_no_box_half_done(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    code, text = rollout.run(bad=("box3",))
    assert code == 2 and rollout.touched() == ["box1", "box2", "box3", "box4"]
    assert "Not touched: 1 of 5 boxes box5" in text and "the rollout stops: box3 failed" in text
    assert all((tmp_path / f"{box}.free").exists() for box in rollout.touched())
    assert "serves now" not in text and "Hand over" in text, "the play behind it was reached, and did nothing"
    assert failed(text) == {"box3"}, "a proven box of the batch is not counted as failed"
    # Mended: the same command takes up where it stopped; what was done changes nothing.
    code, text = rollout.run()
    assert code == 0 and rollout.touched() == HOSTS and text.count("serves now") == len(HOSTS)
    for box in HOSTS:
        assert re.search(rf"{box} : ok=\d+ changed={int(box == 'box5')} unreachable=0 failed=0 ", text), text


def test_a_box_that_is_lost_on_the_way_stops_the_rest(tmp_path: Path) -> None:
    """Ansible counts only failed boxes towards max_fail_percentage, and a box that panicked is unreachable."""
    rollout = Rollout(tmp_path)
    code, text = rollout.run(lost=("box3",))
    assert code != 0 and "box5" not in rollout.touched()
    assert "the rollout stops: box3 failed or cannot be reached" in text and "-l 'all:!box3'" in text
    assert failed(text) == set() and "serves now" not in text
    code, _ = rollout.run((), ("box3",), "-l", "all:!box3")
    assert code == 0 and rollout.touched() == HOSTS


def test_a_plan_says_something_of_every_box_also_where_the_first_cannot_be_reached(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    code, text = rollout.run((), ("box1",), "--check")
    assert code != 0 and rollout.touched() == [] and "the rollout stops" not in text
    for box in HOSTS:
        assert re.search(rf"{box} : ok=\d+ changed=\d unreachable={int(box == 'box1')} failed=0 ", text), text
    assert "Not touched" not in text


def test_the_inventory_says_how_large_the_batches_are(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_serial=[2, 3])
    code, text = rollout.run(bad=("box2",))
    assert code == 2 and rollout.touched() == ["box1", "box2"], text
    assert "Not touched: 3 of 5 boxes box3 box4 box5" in text


def test_so_many_failures_as_the_inventory_tolerates_stop_nothing(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_tolerated=2)
    code, text = rollout.run(bad=("box3",), lost=("box4",))
    # Both of one batch: nothing of it holds, so the next one is not begun.
    assert code != 0 and rollout.touched() == ["box1", "box2", "box3", "box4"] and "serves now" not in text
    rollout.say(provision_tolerated=2, provision_serial=[1, 4])
    code, text = rollout.run(bad=("box3",), lost=("box4",))
    assert code != 0 and rollout.touched() == HOSTS
    assert text.count("serves now") == 3, "those that hold go on"
    assert 'Tolerated, the rollout goes on without box3: "Prove" failed (a check failed). Mend it' in text
    assert "the rollout goes on without box3 box4: 2 of 3 failed or cannot be reached, 2 may" in text
    assert "the rollout stops" not in text and "Not touched" not in text
    code, text = rollout.run()
    assert code == 0 and text.count("serves now") == len(HOSTS)


def test_one_more_than_tolerated_stops_it(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_tolerated=1, provision_serial=[1, 3, 1])
    code, text = rollout.run(bad=("box2", "box3"))
    assert code == 2 and rollout.touched() == ["box1", "box2", "box3", "box4"] and "serves now" not in text
    assert "the rollout stops: box2 box3 failed or cannot be reached (see above); 1 may (provision_tolerated)" in text
    assert "-l 'all:!box2:!box3'" in text and failed(text) == {"box2", "box3"}


def test_failures_of_several_batches_are_counted_together(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_tolerated=1, provision_serial=[1, 2, 2])
    code, text = rollout.run(bad=("box2", "box4"))
    assert code == 2 and "serves now" not in text
    assert "the rollout stops at box4" in text and "the rollout stops: box2 box4 failed" in text
    assert "Not touched" not in text, "there is no further box"


def test_a_canary_is_never_tolerated(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_tolerated=4)
    code, text = rollout.run(bad=("box1",))
    assert code == 2 and rollout.touched() == ["box1"] and "the rollout stops at box1" in text


def test_a_canary_of_several_boxes_holds_as_a_whole(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_tolerated=4, provision_serial=[2, 3])
    code, text = rollout.run(lost=("box1",))
    assert code != 0 and rollout.touched() == ["box1", "box2"], text


def test_a_box_in_quarantine_is_left_out_with_its_reason(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    hosts = {box: {} for box in HOSTS} | {"box1": {"provision_quarantine": True},
                                          "box4": {"provision_quarantine": "waits for a riser"}}
    rollout.inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    code, text = rollout.run()
    assert code == 0 and rollout.touched() == ["box2", "box3", "box5"] and text.count("serves now") == 3
    assert "(item=box4: waits for a riser)" in text
    # Not the canary, either: the first box that is not in quarantine is.
    code, text = rollout.run(bad=("box2",))
    assert code == 2 and "the rollout stops at box2" in text and "Not touched: 2 of 3 boxes box3 box5" in text
    rollout.inventory.write_text(json.dumps({"all": {"hosts": {box: {"provision_quarantine": ""} for box in HOSTS}}}))
    code, _ = rollout.run()
    assert code == 0 and rollout.touched() == HOSTS
