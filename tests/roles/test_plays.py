"""Plays that need no box: nobody answers, or the box is the control node itself."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.bootloader.base import OneShot
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]


def play(tmp_path: Path, playbook: str, host: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"box": host}}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory), *arguments]
    return subprocess.run(argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


@pytest.mark.parametrize(("playbook", "verb"), [
    ("site.yml", "changed"), ("playbooks/provision.yml", "changed"), ("playbooks/handoff.yml", "changed"),
    ("playbooks/rollback.yml", "undone")])
def test_an_unreachable_box_is_said_and_fails(tmp_path: Path, playbook: str, verb: str) -> None:
    # Port 9 (discard) of this machine: refused at once.
    host = {"ansible_host": "127.0.0.1", "ansible_port": 9, "box_spec": {"profile": "lab"}, "inference_recipe": "x.yml"}
    done = play(tmp_path, playbook, host)
    assert done.returncode == 4 and "UNREACHABLE" in done.stdout and "Connection refused" in done.stdout, done.stdout
    assert "changed=0" in done.stdout
    words = " ".join(done.stdout.split())
    assert "box: the machine answers, but no ssh server on this port" in words
    assert words.endswith(f"Nothing was {verb} on it"), words


def test_a_box_that_is_lost_in_the_middle_is_told_what_was_done(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "rollback.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "tasks": [
            {"name": "Write a file", "copy": {"content": "x", "dest": str(made), "mode": "0600"},
             "vars": {"ansible_connection": "local"}},
            {"name": "Ask it", "ping": {}}]}]))
    host = {"ansible_host": "127.0.0.1", "ansible_port": 9, "ansible_python_interpreter": sys.executable}
    done = play(tmp_path, str(tmp_path / "rollback.yml"), host)
    words = " ".join(done.stdout.split())
    assert done.returncode == 4 and made.exists() and "Nothing was undone" not in words, words
    assert "lost in the middle; done before that: Write a file. The same command again goes on" in words


def test_a_mistyped_tag_is_said_and_known_tags_are_those_of_the_playbooks(tmp_path: Path) -> None:
    """Ansible itself runs nothing of the roles then, and ends well: the plan would be green."""
    text = "".join(path.read_text() for path in (ROOT / "playbooks").glob("*.yml"))
    tags = {tag.strip() for group in re.findall(r"tags: &?\w* ?\[([a-z, _]+)\]", text) for tag in group.split(",")}
    source = (ROOT / "playbooks/callback_plugins/tunecheck_plan.py").read_text()
    known = re.search(r"_TAGS = \{([^}]+)\}", source)
    assert known and set(re.findall(r'"(\w+)"', known[1])) == tags - {"always", "never"}
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "box_spec": {"profile": "lab"}}
    done = play(tmp_path, "site.yml", host, "--check", "--tags", "acss")
    assert "no task has the tag acss; did you mean acs?" in done.stderr + done.stdout
    assert "only what has these tags: acss; no task has acss" in done.stdout, done.stdout


@pytest.mark.parametrize("given", [("-i", "inventory/nowhere"), ("-i", "{empty}"),
                                   ("-i", "inventory/box1", "-i", "inventory/nowhere")])
def test_an_inventory_that_is_not_there_is_an_error(tmp_path: Path, given: tuple[str, ...]) -> None:
    """Ansible alone says "no hosts matched" and ends with 0: a timer would take that for a box that is well."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "site.yml",
            *(each.format(empty=tmp_path) for each in given)]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    assert done.returncode not in (0, None) and "parse inventory source" in done.stderr, done.stderr
    assert "PLAY" not in done.stdout


@pytest.mark.parametrize("playbook", ["site.yml", "playbooks/rollback.yml"])
def test_an_inventory_without_a_host_and_none_at_all_are_errors(tmp_path: Path, playbook: str) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text("all: {hosts: {}}\n")
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "--check", "-i", str(hosts)]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)
    assert done.returncode == 2 and "hosts.yml holds none" in done.stderr.replace("\n", " "), done.stderr
    done = subprocess.run(argv[:-2], cwd=ROOT, env=environment(), text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 2 and f"ansible-playbook {playbook} -i inventory/box1" in done.stderr, done.stderr


@pytest.mark.parametrize(("busy", "boot", "gpus", "says"), [
    ([], {}, ["0000:03:00.0"], ["GPUs: 1 of 2 found: 0000:03:00.0; the run would fail at its proof",
                                "would reboot: once, on trial by the firmware's BootNext: the old",
                                "if the trial hangs: no hardware watchdog; only"]),
    ([], {"reboot": "never"}, ["a", "b"], ["GPUs: 2 of 2 found: a b would",
                                           "would reboot: no, box_spec.boot.reboot is"]),
    (["python (77)"], {}, ["a", "b"], ["would reboot: no, while it is in use (python (77))"]),
    (["python (77)"], {"reboot_when_busy": True}, [], ["GPUs: 0 of 2 found; the run", "would reboot: once"]),
    ([], {}, ["a", "k"], ["would reboot: once, on trial by kexec: the old entry", "not in that trial: firmware, boot"]),
])
@pytest.mark.parametrize("locked", ["none", "integrity"])
def test_check_mode_ends_with_a_plan(tmp_path: Path, busy: list[str], boot: dict[str, object], gpus: list[str],
                                     says: list[str], locked: str) -> None:
    """The real role boot_trial and the real callback; box_info answers what a box of that kind would."""
    (tmp_path / "library").mkdir()
    one_shot = OneShot.KEXEC if "k" in gpus else OneShot.BOOT_NEXT
    answer = {"changed": False, "busy": busy, "gpus": gpus, "receipt": {"spec_digest": "d"}}
    (tmp_path / "library/box_info.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        f"AnsibleModule({{}}, supports_check_mode=True).exit_json(**{answer!r})\n")
    spec = {"accelerators": {"count": 2}, "boot": {"reboot": "auto", "reboot_when_busy": False,
                                                   "timeout_seconds": 60} | boot}
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "connection": "local", "vars": {
            "kernel_cmdline_phase": "staged", "kernel_modules_pending": [], "kernel_cmdline_merged": ["a"],
            "kernel_cmdline_trial_id": "abc", "pcie_acs_registers": {}},
        "tasks": [{"set_fact": {"box_spec_frozen": {"digest": "d", "spec": spec},
                                "kernel_cmdline_watchdog": {"code": "none", "device": "", "identity": ""},
                                "kernel_cmdline_one_shot": one_shot.words,
                                "kernel_cmdline_one_shot_code": one_shot.value,
                                "pcie_acs_locked": locked}},
                  {"box_info": {}, "register": "box_info"},
                  {"name": "Write a file", "copy": {"content": "x", "dest": str(tmp_path / "made"), "mode": "0600"}},
                  {"import_role": {"name": "boot_trial"}}]}]))
    done = play(tmp_path, str(tmp_path / "play.yml"), {"ansible_python_interpreter": sys.executable}, "--check")
    shown = " ".join(done.stdout.split())
    assert done.returncode == 0 and not (tmp_path / "made").exists(), shown
    assert "plan for box (--check: nothing was written)" in shown and "would change: Write a file" in shown, shown
    assert "next: the same command without --check" in shown and "reboot pending" not in shown
    assert [each for each in says if each not in shown] == [], shown
    told = "kernel lockdown: integrity; no PCI register is written, the command line alone keeps ACS redirect off"
    assert (told in shown) is (locked == "integrity") and ("lockdown" in shown) is (locked == "integrity")
    lines = done.stdout.partition("plan for box")[2].splitlines()
    # What undoes it is to be copied: with a long inventory it has a line of its own, as long as it is.
    assert len(lines) <= 11 + 2 * (locked == "integrity")
    assert all(len(line) <= 80 for line in lines if "rollback.yml" not in line)


@pytest.mark.parametrize(("lines", "says"), [
    ({}, ""), ({"hosts.yml": 1}, "1 line is still marked CHANGE ({}/hosts.yml:2);"),
    ({"hosts.yml": 1, "host_vars/box.yml": 2},
     "3 lines are still marked CHANGE ({0}/hosts.yml:2, {0}/host_vars/box.yml:2, {0}/host_vars/box.yml:3);")])
def test_lines_that_nobody_completed_are_named(tmp_path: Path, lines: dict[str, int], says: str) -> None:
    """In the plan, and as a warning where nothing is planned: Ansible itself reads no comment."""
    inventory = tmp_path / "inventory"
    (inventory / "host_vars").mkdir(parents=True)
    host = json.dumps({"all": {"hosts": {"box": {"ansible_python_interpreter": sys.executable}}}})
    for name, text in (("hosts.yml", host), ("host_vars/box.yml", "some: value")):
        (inventory / name).write_text("\n".join([text, *["# CHANGE: a guess"] * lines.get(name, 0)]) + "\n")
    (tmp_path / "site.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "connection": "local",
        "tasks": [{"set_fact": {"box_spec_frozen": {"digest": "d", "spec": {}}}}]}]))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(tmp_path / "site.yml"), "-i", str(inventory)]
    for options in (["--check"], []):
        done = subprocess.run([*argv, *options], cwd=ROOT, env=environment(COLUMNS="400"), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        shown = " ".join((done.stdout.partition("plan for box")[2] if options else done.stderr).split())
        where = min(str(inventory), os.path.relpath(inventory, ROOT), key=len)
        assert done.returncode == 0 and ("marked CHANGE" in shown) is bool(lines), done.stderr
        assert says.format(where) in shown, shown


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
