"""Where only the box's packages are installed no verb, with any of its options, ends as a defect of tunecheck: what
needs the control node says so, and exits with 2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from tests.unit.cli.box_only import ROOT, environment, locked, modules_of, run
from tests.unit.imports.test_fragments import PLAIN

from tunecheck.cli.fleet_verbs import FLEET_VERBS
from tunecheck.cli.main import cli
from tunecheck.errors import CONTROL_NODE, UsageError

#: A line is enough to be judged, and takes a tenth of the time.
PASTED = "../paste.txt"
RECORDING = str(ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst")
INVENTORY = str(ROOT / "inventory/box1")
#: What a call is begun with, so that it comes to the verb's work, and does none on the machine that runs the test.
FIRST = {"preflight": ["--from", PASTED], "topo": ["--from", PASTED], "host": ["--from", PASTED],
         "driver": ["--from", PASTED], "runtime": ["--from", PASTED], "pins": ["--from", PASTED],
         "snapshot": ["--from", PASTED], "push": ["--from", RECORDING], "init": ["--from", RECORDING],
         "recover": ["--list"], "watch": ["--once"], "explain": ["acs"], "recipe lint": ["lab-tiny"],
         "completion": ["bash"], "gate": ["--pass", "none.json"], "record": ["-o", "box.tar.zst"]}
VALUES = {"inventory": INVENTORY, "from": PASTED, "url": "http://127.0.0.1:9", "to": "https://127.0.0.1:9",
          "recipe": "lab-tiny", "which": "lab-tiny", "shell": "bash", "host": "box1", "findings": "1", "fact": "bios",
          "name": "acs-redirect", "target": "box1", "in_container": "none"}
CALLS_TO_CONTROL = (["spec", "show", "-i", INVENTORY], ["spec", "schema"], ["spec", "freeze", "--host", "box1"],
                    ["recipe", "list"], ["recipe", "lint"], *([verb] for verb in FLEET_VERBS if verb != "ingest"))


def _leaves(command: click.Command, words: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _leaves(found, [*words, name])


def _value(parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return []
    if isinstance(parameter.type, click.Choice):
        return [str(parameter.type.choices[0])]
    name = parameter.name or ""
    given = next((VALUES[each.lstrip("-").replace("-", "_")] for each in (*parameter.opts, name)
                  if each.lstrip("-").replace("-", "_") in VALUES), "1")
    return [given]


def _calls() -> list[list[str]]:
    """Every verb with what it needs, and the same with each of its options."""
    calls = []
    for words, command in _leaves(cli, []):
        options = [each for each in command.params if isinstance(each, click.Option)]
        needed = [word for each in options if each.required for word in (each.opts[0], *_value(each))]
        arguments = [word for each in command.params if isinstance(each, click.Argument) and each.required
                     for word in _value(each)]
        first = FIRST.get(" ".join(words), [])
        calls.append([*words, *needed, *arguments, *first])
        calls += [[*words, *(needed if not each.required else []), *arguments,
                   *([] if set(each.opts) & set(first) else first), each.opts[0], *_value(each)] for each in options]
        calls += [[*words, *needed, *first, *_value(each)] for each in command.params
                  if isinstance(each, click.Argument) and not each.required]
    return calls


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("box") / "packages")


def test_what_only_the_control_node_installs_is_missing(packages: Path, tmp_path: Path) -> None:
    """The environment is what its name says, by the locks."""
    others = modules_of(locked("control.lock") - locked("box.lock")) | {"tunecheck_fleet"}
    assert {"yaml", "pydantic", "sqlalchemy", "ansible"} <= others and all(find_spec(each) for each in ("yaml",))
    there = "import json, sys; from importlib.util import find_spec; " \
        "print(json.dumps([each for each in json.load(sys.stdin) if find_spec(each)]))"
    assert json.loads(run(packages, tmp_path, there, sorted(others))) == []
    assert json.loads(run(packages, tmp_path, there, ["tunecheck", "httpx"])) == ["tunecheck", "httpx"]


def test_no_verb_with_any_of_its_options_misses_a_module(packages: Path, tmp_path: Path) -> None:
    calls = _calls()
    assert len(calls) > 250
    answers = json.loads(run(packages, tmp_path, data=calls))
    defects = {" ".join(call): text for call, (code, text) in zip(calls, answers, strict=True)
               if "internal error" in text or "ModuleNotFoundError" in text or "Traceback" in text or code < 0}
    assert not defects


def test_what_needs_the_control_node_says_so(packages: Path, tmp_path: Path) -> None:
    for call, (code, text) in zip(CALLS_TO_CONTROL, json.loads(run(packages, tmp_path, data=CALLS_TO_CONTROL)),
                                  strict=True):
        # freeze is given nothing to freeze before it needs anything.
        assert code == UsageError.exit_code and (CONTROL_NODE in text or call[1:2] == ["freeze"]), (call, text)


def test_init_names_no_next_step_that_cannot_work_there(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "gpus.txt").write_text(PLAIN)
    ((code, text),) = json.loads(run(packages, tmp_path, data=[["init", "--from", "../gpus.txt", "-o", "inv"]]))
    assert code == 0 and "tunecheck spec show -i inv" in text and CONTROL_NODE in text, text


def test_a_shell_completes_no_hosts_there_and_says_nothing(packages: Path, tmp_path: Path) -> None:
    program = "from tunecheck.cli.completed import hosts\nclass At: params = {'inventory': %r}\nprint(hosts(At, 0, ''))"
    assert run(packages, tmp_path, program % INVENTORY) == "[]\n"
