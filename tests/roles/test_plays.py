"""Plays that need no box: nobody answers, or the box is the control node itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.module_utils.bootloader.base import OneShot
from tests.play_environment import environment
from tests.roles.plays import ROOT, play


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


def test_a_box_whose_disk_is_full_is_told_so_where_no_module_can_begin(tmp_path: Path) -> None:
    """Where /tmp is on the full disk, a module ends with a traceback before its first line."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "library").mkdir()
    (tmp_path / "library/full.py").write_text(
        "#!/usr/bin/python\nimport tempfile\n"
        "tempfile._candidate_tempdir_list = lambda: ['/nowhere']\ntempfile.mkdtemp()\n")
    (tmp_path / "site.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "tasks": [{"name": "Make the proven boot the default", "full": {}}]}]))
    done = play(tmp_path, str(tmp_path / "site.yml"), host)
    words = " ".join(done.stdout.split())
    assert done.returncode == 2 and "No usable temporary directory" in words, words
    assert "box: the disk of the box with its /tmp is full, or cannot be written: df -h /tmp, then make room" in words


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
    # Who has too few GPUs is not sent into a run that would fail.
    assert ("next: the same command without --check" in shown) is (len(gpus) >= 2) and "reboot pending" not in shown
    assert ("next: mend the number of GPUs as said above" in shown) is (len(gpus) < 2)
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


def test_a_plan_that_cannot_be_made_names_the_lines_that_nobody_completed(tmp_path: Path) -> None:
    """The address that does not answer may be one of them."""
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all:\n  hosts:\n    box:\n      ansible_host: 127.0.0.1   # CHANGE: a guess\n"
                         "      ansible_port: 9\n      box_spec: {profile: lab}\n")
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "site.yml", "-i", str(inventory), "--check"]
    done = subprocess.run(argv, cwd=ROOT, env=environment(COLUMNS="400"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)
    plan = " ".join(done.stdout.partition("no plan for box")[2].split())
    assert "1 line is still marked CHANGE (" in plan and "hosts.yml:4)" in plan, done.stdout
