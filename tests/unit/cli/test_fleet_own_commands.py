"""Every command that a verb of the fleet prints asks the history that the verb was asked about."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest
from tests.unit.cli.carried import ROOT, Fleet

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


def test_a_password_is_never_printed() -> None:
    with click.Context(click.Command("x")) as context:
        context.meta["tunecheck_fleet.store"] = "postgresql://ann:se@cret@db/fleet"
        assert own_command("fleet") == "tunecheck fleet --store 'postgresql://ann:***@db/fleet'"
