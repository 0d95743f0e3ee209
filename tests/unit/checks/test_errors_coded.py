"""Each refusal of a command line has a code beside its sentence: a program, and a test, asks the code."""

from __future__ import annotations

import ast
from pathlib import Path

CHECKS = Path(__file__).parents[3] / "checks"


def _uncoded(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [f"{path.relative_to(CHECKS)}:{node.lineno}" for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "UsageError"
            and len(node.args) < 2 and not any(each.arg == "flaw" for each in node.keywords)]


def test_every_refusal_has_a_code() -> None:
    assert [each for path in sorted(CHECKS.rglob("*.py")) for each in _uncoded(path)] == []
