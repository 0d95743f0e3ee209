"""A command of a fix is pasted with the line it stands on: no text stands behind it in brackets, which a shell takes
for a part of it."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest

_RULES = Path(__file__).resolve().parents[2] / "checks/tunecheck/rules"
_FILES = sorted(_RULES.rglob("*.py"))
#: What makes a part of a sentence a command: the functions that return one.
_COMMANDS = ("run", "smi")


def _bracketed(text: str) -> list[str]:
    """The words of a template in which a bracket opens right behind a command."""
    parts = text.split("`")
    return [parts[place] for place in range(2, len(parts), 2) if parts[place].startswith(" (")]


def _found(tree: ast.AST) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += _bracketed(node.value)
        parts = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "smi"
        for before, part in pairwise(parts):
            command = named or (isinstance(before, ast.Call) and isinstance(before.func, ast.Name)
                                and before.func.id in _COMMANDS)
            if command and isinstance(part, ast.Constant) and str(part.value).startswith(" ("):
                found.append(str(part.value))
    return found


def _docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            body[:1] = []


@pytest.mark.parametrize("file", _FILES, ids=lambda file: str(file.relative_to(_RULES)))
def test_no_bracket_opens_right_behind_a_command(file: Path) -> None:
    tree = ast.parse(file.read_text())
    _docstrings(tree)
    assert not _found(tree)
