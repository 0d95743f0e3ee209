"""CONTRIBUTING.md names folders and files that are there, and the layers that the linter holds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "checks/tunecheck"


def test_every_folder_has_its_line_and_every_line_its_folder() -> None:
    table = PAGE[PAGE.index("| folder of"):PAGE.index("`checks/tunecheck_fleet/` is")]
    named = re.findall(r"`([a-z]+)/", " ".join(line.split("|")[1] for line in table.splitlines() if "|" in line[1:]))
    there = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {name for name in named if name != "checks"} == there
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = [name.strip() for layer in layers for name in layer.split("|") if name.strip() != "errors"]
    assert [name for name in dict.fromkeys(named) if name in listed] == listed, "in the order of the layers"


def test_what_is_looked_for_is_there() -> None:
    table = PAGE[PAGE.index("| you look for |"):PAGE.index("## Add a check")]
    for row in table.splitlines():
        beside = ROOT
        for name in re.findall(r"`([\w/.]+)`", row):
            there = (ROOT if "/" in name else beside) / name
            assert there.exists(), name
            beside = there.parent
