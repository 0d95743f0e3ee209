"""A rollout that did not end, and the run behind it: what is left out, and when nothing may be."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest
from tests.roles.test_rollout import HOSTS, Rollout

PLUGIN = Path(__file__).resolve().parents[2] / "playbooks/action_plugins/rollout_note.py"


@pytest.fixture
def stopped(tmp_path: Path) -> Rollout:
    """One that has proven three boxes and stopped at box4; box5 was not touched. What is touched later is seen."""
    rollout = Rollout(tmp_path)
    rollout.say(provision_serial=[1, 2, 1, 1])
    _bad(rollout, "box4", True)
    code, text = rollout.run()
    assert code == 2 and rollout.touched() == ["box1", "box2", "box3", "box4"] and "left out: " not in text, text
    _bad(rollout, "box4", False)
    _forget_touched(rollout)
    return rollout


def _bad(rollout: Rollout, box: str, is_bad: bool) -> None:
    path = rollout.folder / f"{box}.bad"
    path.touch() if is_bad else path.unlink()


def _forget_touched(rollout: Rollout) -> None:
    for path in rollout.folder.glob("box?"):
        path.unlink()


def _note(rollout: Rollout) -> Path | None:
    return next((rollout.folder / "state/tunecheck/rollouts").glob("*"), None)


def test_what_a_stopped_rollout_has_proven_is_left_out_once(stopped: Rollout) -> None:
    code, text = stopped.run()
    assert code == 0 and stopped.touched() == ["box4", "box5"], text
    assert "left out: 3 of 5 boxes. The rollout of 20" in text and "-e provision_resume_hours=0" in text
    assert text.count("serves now") == len(HOSTS), "those left out are handed over, too"
    # It went to its end: the next run looks at every box.
    assert _note(stopped) is None
    code, text = stopped.run()
    assert code == 0 and stopped.touched() == HOSTS and "left out: " not in text


def test_a_control_node_that_died_in_the_middle(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say(provision_serial=[1, 1, 1, 1, 1])
    argv, variables = rollout.command()
    run = subprocess.Popen(argv, cwd=tmp_path, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 120
    while not (tmp_path / "box3").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    _forget_touched(rollout)
    code, text = rollout.run()
    assert code == 0 and "left out: 2 of 5 boxes" in text, text
    assert rollout.touched() == ["box3", "box4", "box5"]


@pytest.mark.parametrize(("variables", "arguments"), [
    ({"other": 1}, ()), ({}, ("-e", "provision_resume_hours=0")), ({}, ("--tags", "acs")), ({}, ("--check",))])
def test_other_inputs_and_an_operators_word_leave_nothing_out(stopped: Rollout, variables: dict[str, int],
                                                              arguments: tuple[str, ...]) -> None:
    stopped.say(provision_serial=[1, 2, 1, 1], **variables)
    code, text = stopped.run((), (), *arguments)
    assert code == 0 and "left out: " not in text, text
    assert _note(stopped) is None or arguments in (("--tags", "acs"), ("--check",))


def test_one_box_alone_is_worked_on_and_leaves_the_note(stopped: Rollout) -> None:
    before = _note(stopped)
    assert before and before.stat().st_mode & 0o777 == 0o600
    code, text = stopped.run((), (), "-l", "box2")
    assert code == 0 and stopped.touched() == ["box2"] and "left out: " not in text and _note(stopped) == before


@pytest.mark.parametrize("damage", ["cut", "version", "mode", "pipe", "late"])
def test_a_note_that_cannot_be_trusted_is_not_used(stopped: Rollout, damage: str) -> None:
    note = _note(stopped)
    assert note
    document = json.loads(note.read_text())
    if damage == "cut":
        note.write_text(note.read_text()[:-9])
    elif damage == "version":
        note.write_text(json.dumps(document | {"version": 2}))
    elif damage == "mode":
        note.chmod(0o666)
    elif damage == "pipe":
        note.unlink()
        os.mkfifo(note)
    else:
        for each in document["boxes"].values():
            each["proven"] -= 13 * 3600
        note.write_text(json.dumps(document))
    code, text = stopped.run()
    assert code == 0 and stopped.touched() == HOSTS and "left out: " not in text, text
    assert ("is not used: it is" in text) is (damage != "late")


def test_a_broken_box_that_is_tolerated_is_no_canary_afterwards(tmp_path: Path) -> None:
    """The batches are cut as before: the first box that is left would stop all, were it the canary."""
    rollout = Rollout(tmp_path)
    rollout.say(provision_serial=[1, 2, 2], provision_tolerated=1)
    _bad(rollout, "box2", True)
    _bad(rollout, "box4", True)
    code, text = rollout.run()
    assert code == 2 and "the rollout stops: box2 box4 failed" in text, text
    _bad(rollout, "box4", False)
    code, text = rollout.run()
    assert code == 2 and "left out: 3 of 5 boxes" in text and "the rollout stops" not in text, text
    assert "the rollout goes on without box2: 1 of 2 failed" in text


def _plugin() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rollout_note", PLUGIN)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("serial", "done", "left"), [
    ([1, "10%", "50%"], 0, [1, 2, 10]), ([1, "10%", "50%"], 1, [2, 10]), ([1, "10%", "50%"], 2, [2, 10]),
    ([1, "10%", "50%"], 3, [10]), ([1, "10%", "50%"], 20, [10]), (5, 7, [5]), ("30%", 7, [6])])
def test_the_batches_that_are_left(serial: object, done: int, left: list[int]) -> None:
    boxes = [f"box{number}" for number in range(20)]
    assert _plugin().batch_sizes(serial, set(boxes[:done]), boxes) == left
