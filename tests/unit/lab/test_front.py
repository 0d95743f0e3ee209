"""What `make test` does before the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab import front


def test_what_tests_start_is_compiled_before_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody may write bytecode by the way. pytest compiles the tests themselves, in a form of its own."""
    for name in front.CODE:
        (tmp_path / name / "part").mkdir(parents=True)
        for module in ("each.py", "part/other.py", "part/test_other.py"):
            (tmp_path / name / module).write_text("number = 1\n")
    monkeypatch.setattr(front, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    front.compiled(tmp_path)
    made = {(path.relative_to(tmp_path).parts[0], path.name.partition(".")[0]) for path in tmp_path.rglob("*.pyc")}
    assert made == {(name, module) for name in ("checks", "lab", "playbooks", "tests") for module in ("each", "other")}
