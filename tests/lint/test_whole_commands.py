"""A command that a sentence tells to run is whole: what it cannot do without stands in it, a value where it is known
and a word in capitals where it is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tunecheck.cli.main import cli

_ROOT = Path(__file__).resolve().parents[2]
_FILES = sorted(file for folder in ("checks", "playbooks", "roles") for kind in ("py", "yml")
                for file in (_ROOT / folder).rglob(f"*.{kind}"))
#: Behind a colon or "run" a command begins; elsewhere a sentence may only name the verb.
_COMMAND = re.compile(r"(?:(?<=: )|(?<=run ))tunecheck (?P<rest>[a-z][^;,)\n`]*)")
#: Stands for what a template fills in.
_FILLED = "FILLED"


def _texts(file: Path) -> Iterator[str]:
    if file.suffix == ".yml":
        yield from file.read_text(encoding="utf-8").splitlines()
        return
    within: set[int] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            within.update(map(id, node.values))
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else _FILLED for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield node.value


def _lacking(rest: str) -> list[str]:
    """What is required of the command and is not there."""
    command: click.Command = cli
    words = rest.rstrip(".").split()
    while words and isinstance(command, click.Group):
        deeper = command.get_command(click.Context(command), words[0].rstrip("."))
        if deeper is None:
            return []       # a sentence, or a word that is filled in
        command, words = deeper, words[1:]
    required = [] if _FILLED in words else [each for each in command.params if each.required]
    lacking = [each.opts[0] for each in required if isinstance(each, click.Option) and not set(each.opts) & set(words)]
    values = [word for word in words if not word.startswith("-")]
    return lacking + [each.human_readable_name for each in required if isinstance(each, click.Argument) and not values]


def test_what_is_lacking_is_found() -> None:
    assert _lacking("recipe pin") == _lacking("recipe pin --offline") == ["ID|FILE"]
    assert _lacking("spec show --sources") == ["-i"]
    assert not _lacking("recipe pin qwen") and not _lacking("preflight -v")


@pytest.mark.parametrize("file", _FILES, ids=lambda file: str(file.relative_to(_ROOT)))
def test_a_command_names_what_it_cannot_do_without(file: Path) -> None:
    found = {f"tunecheck {match['rest']}": lacking for text in _texts(file) for match in _COMMAND.finditer(text)
             if (lacking := _lacking(match["rest"]))}
    assert not found
