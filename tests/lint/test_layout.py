"""The layout of the sources: no circle of imports, no folder of more than 30 files, no file below 25 lines without a
reason."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
MOST, LEAST = 30, 25

#: Files of checks/ below LEAST lines, by pattern, and why each is a file of its own.
SHORT = {
    "tunecheck/app/write_reports.py": "the one way in which every verb writes, the fleet's too",
    "tunecheck/cli/*.py": "one verb is one file",
    "tunecheck/host/exists.py": "asked of the machine itself, by the watch alone; no recording can answer it",
    "tunecheck/model/confinement.py": "one constant, so that a trial proves what serving gets",
    "tunecheck/parsers/pci/pci.py": "the names that a script on a box imports, which may be older than its checker",
    "tunecheck/recipes/rules/*/*.py": "one rule is one file",
    "tunecheck/recipes/schema.py": "as serving/schema.py and watch/schema.py: each names its own documents",
    "tunecheck/spec/programs.py": "the specification and the fleet both start Ansible's programs",
    "tunecheck/util/typed_path.py": "verbs, imports, recipes and the gate all name paths in commands",
    "tunecheck_fleet/cli/*.py": "one verb is one file",
    "tunecheck_fleet/events/cpu_moves.py": "as gpu_moves.py, of what has no names",
    "tunecheck_fleet/store/migrations/*.py": "Alembic's own layout",
    "tunecheck_fleet/uncollected.py": "the store, the judge and the child that reads answers share it",
}


def _sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _linted(folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    if not LINT.exists():
        pytest.skip("lint-imports is not installed beside this Python; run make setup")
    return subprocess.run([str(LINT), "--no-cache"], cwd=folder, env={**os.environ, "PYTHONPATH": str(path)},
                          capture_output=True, text=True, timeout=600, check=False)


def test_the_contracts_hold() -> None:
    done = _linted(ROOT, ROOT / "checks")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_contract_of_circles_covers_both_packages_and_every_import() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    circles = [each["ancestors"] for each in lint["contracts"] if each["type"] == "acyclic_siblings"]
    assert circles == [["tunecheck", "tunecheck_fleet"]]
    assert lint["exclude_type_checking_imports"] is False
    assert not [each["name"] for each in lint["contracts"] if "ignore_imports" in each or "depth" in each]


@pytest.mark.parametrize(("back", "holds"), [
    ("", True),
    ("def late() -> None:\n    from . import one\n", False),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import ONE\n", False),
], ids=["none", "inside a function", "for types alone"])
def test_a_circle_is_found_wherever_the_import_stands(back: str, holds: bool, tmp_path: Path) -> None:
    package = tmp_path / "small"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("from . import two\nONE = 1\n")
    (package / "two.py").write_text(back)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_package = "small"\nexclude_type_checking_imports = false\n'
        '[[tool.importlinter.contracts]]\nname = "No circles"\ntype = "acyclic_siblings"\nancestors = ["small"]\n')
    done = _linted(tmp_path, tmp_path)
    assert (done.returncode == 0) is holds, done.stdout + done.stderr
    assert ("No circles KEPT" if holds else "No circles BROKEN") in done.stdout


def test_no_folder_has_too_many_files() -> None:
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in _sources("checks", "lab"))
    assert len(counts) > 50, "the sources are not where they are looked for"
    large = {folder: count for folder, count in counts.items() if count > MOST}
    assert not large, f"more than {MOST} Python files: {large}; give one subject a folder of its own"


def test_no_file_is_short_without_a_reason() -> None:
    short = {path.relative_to(ROOT / "checks").as_posix() for path in _sources("checks")
             if path.name != "__init__.py" and len(path.read_text().splitlines()) < LEAST}
    bare = sorted(name for name in short if not any(fnmatch(name, pattern) for pattern in SHORT))
    assert not bare, f"below {LEAST} lines: {bare}; put each to what it belongs to, or give a reason in SHORT"
    stale = [pattern for pattern in SHORT if not any(fnmatch(name, pattern) for name in short)]
    assert not stale, f"no file needs this reason any more: {stale}"
