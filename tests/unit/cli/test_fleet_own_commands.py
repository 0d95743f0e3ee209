"""Every command that a verb of the fleet prints asks the history that the verb was asked about."""

from __future__ import annotations

import ast
import re
import shlex
from itertools import pairwise
from pathlib import Path

import click
import pytest
from tests.unit.cli.carried import ROOT, Fleet, box, statuses

from tunecheck_fleet.connecting import next_step
from tunecheck_fleet.own_command import own_command

#: A command that reads or writes a history; "tunecheck audit #12" and the titles of documents are none.
_COMMAND = re.compile(r"\btunecheck (?:acknowledge|approve|audit|blame|drift|export|fleet|history|waive)\b(?! #)")
#: Files whose texts name a verb and give no command: titles, and help of options.
_TITLES = {"outputs/schema.py", "outputs/junit.py"}


def _literals(path: Path) -> list[str]:
    """Every text of a file, but for docstrings and what is help of an option."""
    tree = ast.parse(path.read_text())
    left_out = {id(node.body[0].value) for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)}
    left_out |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"
                 for part in ast.walk(node.value)}
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out]


def test_no_text_writes_a_command_of_the_fleet_by_hand() -> None:
    package = ROOT / "checks/tunecheck_fleet"
    found = {str(path.relative_to(package)): text for path in sorted(package.rglob("*.py"))
             for text in _literals(path) if _COMMAND.search(text)}
    assert {name: text for name, text in found.items() if name not in _TITLES} == {}, "own_command() makes them"
    assert set(found) == _TITLES, "an exception that is none any more"


#: What is typed, with the history that knows two audits of six boxes.
SAID = [
    ("fleet",), ("drift",), ("history", "--host", "gpu1", "--fact", "host.key"),
    ("blame", "host.key", "--host", "gpu1"),
    ("history",), ("fleet", "--audit", "99"), ("approve", "12345678"), ("approve", "--end", "3"),
    ("waive", "gpu.vbios"), ("waive", "--end", "7"), ("acknowledge", "12345678"),
]


@pytest.mark.parametrize("arguments", SAID, ids=[" ".join(each) for each in SAID])
def test_a_history_that_was_typed_is_in_every_command(drifted: Fleet, arguments: tuple[str, ...], tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    place = tmp_path / "a b"
    place.symlink_to(drifted.store.parent)
    store = str(place / "fleet.db")
    typed = f"--store {shlex.quote(store)}"
    code, out, err = drifted.run(*arguments, "--store", store)
    said = out + err
    commands = _COMMAND.findall(said)
    assert commands and said.count(typed) == len(commands), (code, said)
    for line in said.splitlines():
        assert line.count("--store") == line.count(typed), "no command is broken"
    _, out, err = drifted.run(*arguments)
    assert "--store" not in out + err, "the environment holds for the next command, too"


@pytest.mark.parametrize("arguments", [("drift",), ("fleet", "hosts"), ("waive", "--list")])
def test_also_where_there_is_no_history_yet(drifted: Fleet, arguments: tuple[str, ...], tmp_path: Path) -> None:
    store = tmp_path / "none.db"
    _, said = drifted.refused(*arguments, "--store", str(store))
    assert f"tunecheck audit -i INVENTORY --store {store}" in said


def _called(path: Path, name: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name) and node.func.id == name]


def test_what_is_filled_into_a_command_is_always_one_word() -> None:
    """Every template is our own text; what it is filled with is quoted by own_command()."""
    package = ROOT / "checks/tunecheck_fleet"
    calls = [(path, call) for path in sorted(package.rglob("*.py")) for call in _called(path, "own_command")]
    assert len(calls) > 20
    assert [f"{path}:{call.lineno}" for path, call in calls if not isinstance(call.args[0], ast.Constant)] == []


#: Behind such an option, or such a program, a text is a command's.
_BEFORE_A_VALUE = re.compile(r"(?:--(?:host|group|gone|fact|limit)|ssh(?:-copy-id)?|ansible-inventory -i) $")


def test_no_other_text_holds_a_name_behind_an_option_unquoted() -> None:
    """Refusals that begin with the option that was typed give no command."""
    found = []
    for path in sorted((ROOT / "checks/tunecheck_fleet").rglob("*.py")):
        for text in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.JoinedStr)):
            for place, (before, value) in enumerate(pairwise(text.values)):
                if place and isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue) \
                        and _BEFORE_A_VALUE.search(str(before.value)) and "shlex.quote" not in ast.unparse(value):
                    found.append(f"{path}:{text.lineno}")
    assert [each for each in found if "connecting.py" not in each] == []


BAD = ["x;touch PWN;", "gpu 2 (copy)", "$(touch PWN)", "a`touch PWN`", "a|b", "-v", "a\nb", "it's", "\u202egpu", "a*"]


@pytest.mark.parametrize("name", BAD)
def test_a_name_is_one_word_of_a_command(name: str) -> None:
    line = own_command("waive {fact} --host {host} --until 30d", fact="gpu.vbios", host=name)
    assert shlex.split(line) == ["tunecheck", "waive", "gpu.vbios", "--host", name, "--until", "30d"]
    assert name in shlex.split(next_step("connection timed out", name, "ann").partition(": ssh ")[2])[0]


def test_a_file_that_no_host_can_be_called_like_is_garbled(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    for number, name in enumerate(("gpu-9", "gpu9.dc2.example", "GPU_9", "9", *BAD)):
        (fleet.files / f"{name}.json").write_bytes(box(number))
    _, document = fleet.seen()
    assert [*statuses(document).values()].count("garbled") == len(BAD)
    assert {host for host, status in statuses(document).items() if status != "garbled"} == {
        "gpu-9", "gpu9.dc2.example", "GPU_9", "9"}


def test_a_password_is_never_printed() -> None:
    with click.Context(click.Command("x")) as context:
        context.meta["tunecheck_fleet.store"] = "postgresql://ann:se@cret@db/fleet"
        assert own_command("fleet") == "tunecheck fleet --store 'postgresql://ann:***@db/fleet'"
