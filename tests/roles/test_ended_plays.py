"""Plays that are ended, refused or broken: what they say is locked, written and to be done next."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.play_environment import environment
from tests.roles.plays import ROOT, play


@pytest.mark.parametrize(("released", "options", "said"), [
    (False, (), True), (True, (), False), (False, ("--check",), False)])
def test_a_play_that_is_ended_in_the_middle_says_where_its_lock_is(
    tmp_path: Path, released: bool, options: tuple[str, ...], said: bool,
) -> None:  # fmt: skip
    (tmp_path / "library").mkdir()
    (tmp_path / "library/box_lock.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        "AnsibleModule({'state': {}, 'owner': {'type': 'dict'}, 'steal': {}}, supports_check_mode=True).exit_json()\n")
    states = ("held", "released") if released else ("held",)
    tasks: list[dict[str, object]] = [{"box_lock": {"state": state}} for state in states]
    begun = tmp_path / "begun"
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "connection": "local",
        "tasks": [*tasks, {"command": f"sh -c 'touch {begun}; exec sleep 60'", "check_mode": False}]}]))
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": {"box": {
        "ansible_python_interpreter": sys.executable}}}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(tmp_path / "play.yml"), "-i",
            str(tmp_path / "hosts.json"), *options]
    with subprocess.Popen(argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as running:
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        shown, _ = running.communicate(timeout=60)
    assert begun.exists() and running.returncode not in (0, None), shown
    words = " ".join(shown.split())
    assert words.count("Its lock is still on box, where") == said, shown
    assert ("(--check): nothing was written, and no box was locked. It waited for box." in words) is bool(options)
    assert ("next: run the same command again on this control node" in words) is said


@pytest.mark.parametrize(("options", "task", "says"), [
    (("--check",), "Take the lock (--check: only look who holds it)",
     "nothing was written, and no box was locked. It waited for box."),
    ((), "Take the lock", "It was about to lock box: the lock may be there, nothing else was begun there."),
    ((), "Hold the frozen box_spec", "It holds the lock of no box, so no work is half done.")])
def test_a_play_that_is_ended_at_a_box_that_does_not_answer_says_what_is_locked(
        tmp_path: Path, options: tuple[str, ...], task: str, says: str) -> None:
    """The box is one that never answers: a server that accepts and says nothing."""
    if task == "Hold the frozen box_spec":      # before the lock: any task of the control node
        (tmp_path / "site.yml").write_text(json.dumps([{
            "hosts": "all", "gather_facts": False, "become": False, "connection": "local",
            "tasks": [{"name": task, "command": "sleep 60"}]}]))
    playbook = str(tmp_path / "site.yml") if (tmp_path / "site.yml").exists() else "playbooks/provision.yml"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": {"box": {
            "ansible_host": "127.0.0.1", "ansible_port": silent.getsockname()[1], "box_spec": {"profile": "lab"},
            "ansible_python_interpreter": sys.executable}}}}))
        argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(tmp_path / "hosts.json"),
                *options]
        with subprocess.Popen(argv, cwd=ROOT, env=environment(PYTHONUNBUFFERED="1"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              start_new_session=True) as running:
            assert running.stdout is not None
            shown = ""
            for line in running.stdout:
                shown += line
                if line.startswith(f"TASK [{task}]"):
                    time.sleep(1)       # its worker has to be there
                    os.killpg(running.pid, signal.SIGINT)
    assert running.returncode not in (0, None) and says in " ".join(shown.split()), shown


@pytest.mark.parametrize("here", [True, False])
def test_a_play_that_is_refused_for_a_lock_says_how_it_ends(tmp_path: Path, here: bool) -> None:
    """Another control node's play cannot be looked at, so only its lock's token ends that; one of this node can."""
    spec = importlib.util.spec_from_file_location("box_lock_action", ROOT / "playbooks/action_plugins/box_lock.py")
    assert spec is not None and spec.loader is not None
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    holder = {"who": "eve", "since": "now", "token": "abc", "pid": os.getpid(), "started": plugin.started(os.getpid()),
              "control": plugin.control_node() if here else "another"}
    (tmp_path / "library").mkdir()
    (tmp_path / "library/box_lock.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        "AnsibleModule({'state': {}, 'owner': {'type': 'dict'}, 'steal': {}}, supports_check_mode=True)."
        f"exit_json(holder={holder!r})\n")
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "connection": "local",
        "tasks": [{"box_lock": {"state": "held"}}]}]))
    done = play(tmp_path, str(tmp_path / "play.yml"), {"ansible_python_interpreter": sys.executable})
    assert done.returncode == 2 and "held by eve since now" in done.stdout, done.stdout
    assert ("-e box_lock_steal=abc" in done.stdout, f"kill {os.getpid()})" in done.stdout) == (not here, here)
    assert "Its lock is still on" not in done.stdout


@pytest.mark.parametrize(("runs", "says"), [
    ("run_command(['/sbin/is-not-here', '-F', 'parm'])", "(/sbin/is-not-here -F parm: No such file or directory)"),
    # One that ran, failed and said nothing: its code is its own, and no error of the system.
    ("run_command(['/bin/sh', '-c', 'exit 2'], check_rc=True)", "a task failed and said nothing: box_info")])
def test_a_plan_names_the_program_that_could_not_be_started(tmp_path: Path, runs: str, says: str) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library/box_info.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        f"AnsibleModule({{}}, supports_check_mode=True).{runs}\n")
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "connection": "local",
        "tasks": [{"set_fact": {"box_spec_frozen": {"digest": "d", "spec": {}}}}, {"box_info": {}}]}]))
    done = play(tmp_path, str(tmp_path / "play.yml"), {"ansible_python_interpreter": sys.executable}, "--check")
    plan = " ".join(done.stdout.partition("plan for box")[2].split())
    assert says in plan and ("No such file" in plan) == ("No such file" in says) and "refused" in plan, done.stdout
