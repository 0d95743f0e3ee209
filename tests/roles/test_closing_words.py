"""Every play that an operator runs by hand ends with words where it is run with --check; rollback.yml with a plan."""

from __future__ import annotations

import importlib.util
import json
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible import context
from ansible.utils.context_objects import CLIArgs
from tests.play_environment import environment
from tests.roles.plays import ROOT, play

PLAYBOOKS = ["site.yml", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "playbooks").glob("*.yml")))]
HERE = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable,
        "box_spec": {"profile": "lab"}}
RECEIPT = {"state": "committed", "before": {"taken": "2026-11-01T00:00:00Z", "driver": {}},
           "history": [{"at": "2026-11-02T00:00:00Z", "note": "x", "state": "committed"}]}


def _callback() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plan", ROOT / "playbooks/callback_plugins/tunecheck_plan.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _behind_the_recap(said: str) -> str:
    return " ".join(said.partition("PLAY RECAP ***")[2].partition("\n\n")[2].split())


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_play_ends_with_words(tmp_path: Path, playbook: str) -> None:
    done = play(tmp_path, playbook, HERE, "--check")
    words = _behind_the_recap(done.stdout)
    assert "box" in words, done.stdout
    assert any(said in words for said in ("--check", "Nothing is handed over to")), words


def test_a_box_that_cannot_be_reached_hides_no_other_in_the_plan_of_a_rollback(tmp_path: Path) -> None:
    hosts = {"away": {"ansible_host": "127.0.0.1", "ansible_port": 9}, "box": HERE}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/rollback.yml", "--check", "-i",
            str(tmp_path / "hosts.json")]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)
    words = _behind_the_recap(done.stdout)
    assert "no plan for away: it could not be looked at, and nothing was written" in words
    assert "plan for box (--check: nothing was written)" in words and "would reboot: no" in words, words


class Task:
    def __init__(self, action: str, name: str = "", **args: Any) -> None:
        self.action, self.args, self._name = action, args, name

    def get_name(self) -> str:
        return self._name


def _lines(monkeypatch: pytest.MonkeyPatch, answers: list[tuple[Task, dict[str, Any]]], refused: str = "",
           **variables: object) -> list[str]:
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": True, "inventory": ("inv/a b",), "tags": (),
                                                     "extra_vars": ("rollback_reboot=false",)}))
    module = _callback()
    box = module.Box()
    for task, data in answers:
        box.ok(data, task, True)
    if refused:
        box.failed({"msg": refused}, Task("box_lock", "Take the lock"))
    told = module.undoing.lines("gpu1", box, "playbooks/rollback.yml", variables)
    return [line.replace("\u00a0", " ") for line in told]


def _undone(busy: list[str], receipt: dict[str, Any], reboots: bool) -> list[tuple[Task, dict[str, Any]]]:
    return [
        (Task("box_info"), {"busy": busy, "receipt": receipt, "changed": False}),
        (Task("kernel_cmdline", "Restore the kernel command line", state="absent"), {
            "changed": True, "diff": [{"before_header": "/etc/default/grub.d/t.cfg", "before": "a", "after": ""}]}),
        (Task("driver_packages", "Return to the driver packages of the receipt"), {
            "changed": True, "actions": ["restore nvidia-open=595.1"],
            "notes": ["nvidia-x 1 is not offered any more"]}),
        (Task("box_files", "Remove the unit that sets the GPUs"), {"changed": False, "written": []}),
        (Task("ansible.builtin.file", "Remove the rest"), {"changed": True, "results": [
            {"item": "/etc/tunecheck", "changed": True}, {"item": "/opt/tunecheck", "changed": False}]}),
        *([(Task("ansible.builtin.reboot", "Reboot"), {"changed": True})] if reboots else [])]


def test_the_plan_says_what_is_put_back_and_by_which_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _lines(monkeypatch, _undone([], RECEIPT, True))
    assert lines == [
        "plan for gpu1 (--check: nothing was written)", "  would undo:",
        "    Restore the kernel command line: /etc/default/grub.d/t.cfg",
        "    Return to the driver packages of the receipt: restore nvidia-open=595.1",
        "    Remove the rest: /etc/tunecheck",
        "  receipt: /var/lib/tunecheck/receipt.json (committed, last written 2026-11-02T00:00:00Z), what was found on "
        "2026-11-01T00:00:00Z",
        "  stays: nvidia-x 1 is not offered any more", "  would reboot: once, into what is put back",
        "  next: ansible-playbook playbooks/rollback.yml -i 'inv/a b' -l gpu1 -e rollback_reboot=false"]
    assert shlex.split(lines[-1].partition("next: ")[2])[3] == "inv/a b"


@pytest.mark.parametrize(("busy", "variables", "why"), [
    (["python (7)"], {}, "no, it is in use (python (7)): the running kernel keeps what was there"),
    ([], {"ansible_connection": "local"}, "no, it is this machine itself: "),
    ([], {}, "no, rollback_reboot is false: ")])
def test_the_plan_says_why_a_reboot_stays_pending(monkeypatch: pytest.MonkeyPatch, busy: list[str],
                                                  variables: dict[str, object], why: str) -> None:
    lines = _lines(monkeypatch, _undone(busy, {}, False), **variables)
    assert any(line.startswith(f"  would reboot: {why}") for line in lines), lines
    assert "  receipt: none is there; tunecheck's own files go, and packages stay as they are" in lines


def test_a_refusal_is_said_and_no_command_that_meets_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _lines(monkeypatch, [], "another play works on this box: held by eve")
    assert lines[1:] == ["  would undo: not known", "  refused: another play works on this box: held by eve",
                         "  next: mend what is refused, then run this again"]


def test_a_box_without_a_trace_has_nothing_to_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _lines(monkeypatch, [(Task("box_info"), {"busy": [], "receipt": {}})])
    assert lines[1:] == ["  would undo: nothing, no trace of tunecheck is on it", "  would reboot: no",
                         "  next: nothing has to be done"]
