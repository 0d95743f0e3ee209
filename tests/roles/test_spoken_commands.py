"""What a play says at its end can be pasted and is of this run: its commands keep the options by which the boxes were
reached, its names are those that Ansible itself used, and no value of the environment or of a host ends its words."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible import context
from ansible.cli.playbook import PlaybookCLI
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.utils.context_objects import CLIArgs
from ansible.vars.manager import VariableManager
from tests.roles.plays import ROOT, play
from tests.roles.test_closing_words import HERE, Task, _behind_the_recap, _callback

#: Each way to say how a box is reached.
_REACHED = [["-u", "eve"], ["--private-key", "/k e/y"], ["-c", "local"], ["--ssh-common-args=-o ProxyJump=a"],
            ["--ssh-extra-args=-v"], ["--sftp-extra-args=-f"], ["--scp-extra-args=-l 1"], ["--become-method", "su"],
            ["--become-user", "adm"], ["-K"], ["-k"], ["-J"], ["--vault-id", "a@/v"], ["--vault-password-file", "/v"],
            ["--become-password-file", "/p"], ["--connection-password-file", "/q"]]
_NAMES = ("remote_user", "private_key_file", "connection", "ssh_common_args", "ssh_extra_args", "sftp_extra_args",
          "scp_extra_args", "become_method", "become_user", "become_ask_pass", "ask_pass", "ask_vault_pass",
          "vault_ids", "vault_password_files", "become_password_file", "connection_password_file")


def _parsed(monkeypatch: pytest.MonkeyPatch, argv: list[str]) -> dict[str, Any]:
    """Make Ansible parse this command line; return what it understood."""
    said: dict[str, Any] = {}
    monkeypatch.setattr(context, "_init_global_context", lambda options: said.update(vars(options)))
    PlaybookCLI(argv).parse()
    monkeypatch.setattr(context, "CLIARGS", CLIArgs(said))
    return said


@pytest.mark.parametrize("given", [[], *_REACHED, [word for each in _REACHED[:5] for word in each]],
                         ids=lambda each: " ".join(each) or "none")
def test_a_command_keeps_how_the_boxes_were_reached(monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    first = _parsed(monkeypatch, ["ansible-playbook", "playbooks/rollback.yml", "--check", "-i", "inv a", *given, "-e",
                                  "rollback_reboot=false", "-e", "ansible_host=10.0.0.1", "--skip-tags", "gpu"])
    line = _callback().command_line
    for command, extra in ((line.again("playbooks/rollback.yml", "gpu 1"), list(first["extra_vars"])),
                           (line.undo("gpu 1"), ["ansible_host=10.0.0.1"])):
        again = _parsed(monkeypatch, shlex.split(command.replace(line.NO_BREAK, " ")))
        assert {name: again[name] for name in _NAMES} == {name: first[name] for name in _NAMES}
        assert list(again["extra_vars"]) == extra and again["subset"] == "gpu 1" and not again["check"]
        assert list(again["inventory"]) == list(first["inventory"])


def test_the_command_of_this_run_keeps_its_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    _parsed(monkeypatch, ["ansible-playbook", "x.yml", "-t", "acs,gpu", "--skip-tags", "driver"])
    line = _callback().command_line
    again = _parsed(monkeypatch, shlex.split(line.again("x.yml", "gpu1").replace(line.NO_BREAK, " ")))
    assert line.given("tags") == {"acs", "gpu"} and line.given("skip_tags") == {"driver"}, again


@pytest.mark.parametrize(("columns", "width"), [
    ("abc", 80), ("", 80), ("0", 80), ("-5", 80), ("9", 40), ("100", 100), ("500", 120), ("²", 80), ("９", 80),
    ("9" * 5000, 80), ("80.5", 80)])
def test_no_value_of_columns_ends_the_words(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert _callback().command_line.width() == width


def _told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: dict[str, object],
          **options: object) -> dict[str, Any]:
    monkeypatch.setattr(context, "CLIARGS", CLIArgs(options))
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": {"box": host}}}))
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(tmp_path / "hosts.json")])
    manager = VariableManager(loader=loader, inventory=inventory)
    told: dict[str, Any] = _callback().variables.of_host(manager, inventory.get_host("box"))
    return told


@pytest.mark.parametrize(("host", "options", "told"), [
    ({"ansible_host": "{{ ip }}", "ip": "10.0.0.1", "ansible_port": "{{ 20 + 2 }}"}, {},
     {"ansible_host": "10.0.0.1", "ansible_port": 22}),
    ({"ansible_user": "{{ who }}", "who": "eve"}, {"remote_user": "adam"}, {"ansible_user": "eve"}),
    ({}, {"remote_user": "adam", "connection": "local"}, {"ansible_user": "adam", "ansible_connection": "local"}),
    ({"ansible_ssh_host": "a", "ansible_ssh_user": "b", "ansible_ssh_port": 7}, {},
     {"ansible_host": "a", "ansible_user": "b", "ansible_port": 7}),
    ({"ansible_host": "{{ nope }}", "ansible_user": "{{ 1 / 0 }}", "ansible_port": "{{"}, {}, {}),
    ({"provision_quarantine": "{{ false }}", "inference_recipe": "{{ none }}"}, {},
     {"provision_quarantine": False, "inference_recipe": None})])
def test_variables_are_read_as_ansible_reads_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                  host: dict[str, object], options: dict[str, object],
                                                  told: dict[str, object]) -> None:
    assert _told(monkeypatch, tmp_path, host, **options) == told


@pytest.mark.parametrize("recipe", [None, "", False, [], {}])
@pytest.mark.parametrize("quarantine", [None, "", False, "riser is out"])
def test_a_box_that_the_hand_over_leaves_out_is_told_why(monkeypatch: pytest.MonkeyPatch, recipe: object,
                                                         quarantine: object) -> None:
    """As playbooks/handoff.yml leaves it out: `is truthy`, and `default(none, true) is none`."""
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({}))
    variables = {"inference_recipe": recipe, "provision_quarantine": quarantine}
    told = " ".join(_callback().other_plays.not_handed_over({"box": variables}, "playbooks/handoff.yml"))
    assert told.startswith("Nothing is handed over to box: " + (
        "provision_quarantine is set there" if quarantine else "inference_recipe is not set there")), told


@pytest.mark.parametrize("reached", ["local", "ansible.builtin.local"])
def test_a_machine_that_is_this_one_is_not_rebooted_however_that_is_written(monkeypatch: pytest.MonkeyPatch,
                                                                            reached: str) -> None:
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": True}))
    module = _callback()
    box = module.Box()
    box.pending = True
    told = module.undoing.lines("gpu1", box, "playbooks/rollback.yml", {"ansible_connection": reached})
    assert any(line.startswith("  would reboot: no, it is this machine itself") for line in told), told


_OF_ITEMS = [{"failed": False, "changed": False, "skipped": True, "item": "a"},
             {"failed": True, "changed": False, "msg": "snapshot_timer_every x: expected a time", "item": "b"}]


@pytest.mark.parametrize(("answer", "why"), [
    ({"msg": "One or more items failed", "results": _OF_ITEMS}, "snapshot_timer_every x: expected a time"),
    ({"msg": "All items completed", "results": []}, "All items completed"),
    ({"msg": "no", "results": ["text of a module", None, 7]}, "no"),
    ({"results": [{"failed": True}]}, "a task failed and said nothing: Refuse")])
def test_what_failed_in_a_loop_is_told_in_the_words_of_the_item(answer: dict[str, Any], why: str) -> None:
    box = _callback().Box()
    box.failed(answer, Task("ansible.builtin.fail", "Refuse"))
    assert box.refused == why
    box.ok({"changed": True, **answer}, Task("x", "y"), True)


def test_the_plan_says_what_an_item_of_a_loop_refuses(tmp_path: Path) -> None:
    done = play(tmp_path, "site.yml", {**HERE, "snapshot_timer_every": "daily"}, "--check", "--tags", "snapshot")
    words = " ".join(done.stdout.split())
    assert "snapshot_timer_every daily: expected a time such as 15min" in _behind_the_recap(done.stdout), words
    assert '"Refuse what cannot work before the first write" failed (snapshot_timer_every daily: ' in words, words


_DAMAGED = [None, 7, "x", [], [1], {"a": 1}]


@pytest.fixture
def receipts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[object], ModuleType]]:
    from ansible.module_utils import receipt

    def of(content: object) -> ModuleType:
        text = content if isinstance(content, str) else json.dumps(content)
        monkeypatch.setattr(receipt, "read_text", lambda *_: text)
        return receipt

    yield of


_PARTS = ("before", "driver", "history", "spec_digest", "state", "tokens", "toolkit")


@pytest.mark.parametrize("content", ["", "{", "null", "7", "[]", '"x"', "[" * 5000,
                                     *({part: value} for part in _PARTS for value in _DAMAGED),
                                     *({"before": {part: value}} for part in ("boot_id", "taken", "driver", "acs")
                                       for value in _DAMAGED), {"history": [None, 7, "x", {"at": "t"}]}])
def test_a_damaged_receipt_ends_no_module_and_no_plan(receipts: Callable[[object], ModuleType],
                                                      load_module: Callable[[str], ModuleType],
                                                      monkeypatch: pytest.MonkeyPatch, content: object) -> None:
    receipt = receipts(content)
    found = receipt.load()
    kept = load_module("box_receipt").updated(found, {
        "spec_digest": "d", "git_revision": "g", "trial_id": "", "tokens": [], "state": "committed", "note": "n",
        "acs": {"0000:01:00.0": "0x1d"}}, "boot", "now")
    assert kept["history"][-1]["note"] == "n" and kept["before"]["acs"]
    assert load_module("box_info").load is receipt.load, "one reader"
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": True}))
    module = _callback()
    box = module.Box()
    box.ok({"receipt": found, "busy": []}, Task("box_info"), True)
    box.ok({"changed": True}, Task("box_files", "Remove it"), True)
    assert any(line.startswith("  receipt: ") for line in module.undoing.lines("gpu1", box, "r.yml", {}))


def test_what_is_encrypted_is_told_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/all.yml").write_text(f"$ANSIBLE_VAULT;1.1;AES256\n{'61' * 40}\n")
    done = play(tmp_path, "playbooks/rollback.yml", HERE, "--check")
    said = " ".join(done.stderr.split())
    assert done.returncode == 4 and "--ask-vault-pass" in said and "mend that file" not in said, said


def test_every_question_for_this_machine_takes_both_spellings() -> None:
    """local and ansible.builtin.local are one connection."""
    files = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").rglob("*.yml")]
    asked = [line.strip() for file in files for line in file.read_text().splitlines() if "ansible_connection" in line]
    assert len(asked) > 4 and [line for line in asked if ".split('.')[-1]" not in line] == []


@pytest.mark.parametrize("count", [0, 1, 3, 4, 8, 9, 16])
def test_what_is_left_out_of_a_plan_is_counted(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": True}))
    module = _callback()
    box = module.Box()
    names = [f"n{number:02}" for number in range(count)]
    box.info, box.trial = {"gpus": names, "busy": names}, {"boot_trial_needs_reboot": True}
    for said in ("\n".join(module.provisioning.lines("gpu1", box)),
                 "\n".join(module.other_plays.closing("power_cycle.yml", "playbooks/power_cycle.yml", names))):
        for line in said.splitlines():
            left = [int(each) for each in re.findall(r"(?:and|for) (\d+) more", line)]
            told = len(set(re.findall(r"\bn\d\d\b", line)))
            assert not (told and "-l" not in line) or told + sum(left) == count, line
        commands = said.count(" -l\u00a0n")
        more = re.search(r"and so for (\d+) more", said)
        assert not commands or commands + int(more[1] if more else 0) == count, said
