"""A file of ours that is not there is not called a damaged one, and is not to be written again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import ROOT

from tunecheck.errors import Flaw, SpecError, UsageError
from tunecheck.gate import measured, passed
from tunecheck.recipes.lock import read_lock
from tunecheck.recipes.stored import load_recipe
from tunecheck.spec.frozen import load_frozen

_READERS: dict[str, Callable[[Path], Any]] = {
    "recipe": lambda path: load_recipe(str(path)), "lock": read_lock, "spec": load_frozen,
    "pass": lambda path: passed.read(str(path)), "measured pass": lambda path: measured.read(str(path))}


def _refused(name: str, path: Path) -> UsageError | SpecError:
    with pytest.raises((UsageError, SpecError)) as told:
        _READERS[name](path)
    return told.value


@pytest.mark.parametrize("name", _READERS)
def test_one_that_is_not_there_and_a_damaged_one_differ(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.json"
    nowhere = tmp_path / "no" / "file.json"
    for missing in (path, nowhere):
        refused = _refused(name, missing)
        assert refused.flaw is Flaw.MISSING and str(missing) in str(refused)
        assert "does not exist" in str(refused) and not re.search(r"\bagain\b", str(refused))
    for damage in ("", "{", "[]", '{"schema": "tunecheck/other/9"}'):
        path.write_text(damage)
        path.chmod(0o644)
        refused = _refused(name, path)
        assert refused.flaw not in (None, Flaw.MISSING) and "does not exist" not in str(refused)
    assert _refused(name, path / "below").flaw is Flaw.MISSING


def test_every_reader_of_such_a_file_is_tried() -> None:
    """Whoever calls read_typed has a line here."""
    callers = {path.stem for path in (ROOT / "checks").rglob("*.py")
               if re.search(r"= read_typed\(", path.read_text(encoding="utf-8"))}
    assert callers == {"stored", "lock", "passed", "measured"}
