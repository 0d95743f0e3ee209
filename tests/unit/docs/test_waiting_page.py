"""docs/benchmarks/waiting.md is what lab.waiting.table prints out of the measured runs beside it."""

from __future__ import annotations

import json
from pathlib import Path

from lab.waiting.table import page

FOLDER = Path(__file__).resolve().parents[3] / "docs/benchmarks"
ROWS = json.loads((FOLDER / "waiting-rows.json").read_text())["rows"]


def test_the_page_is_the_printed_one() -> None:
    assert (FOLDER / "waiting.md").read_text() == page(), (
        "PYTHONPATH=checks:. python -m lab.waiting.table > docs/benchmarks/waiting.md")


def test_a_goal_that_is_not_reached_is_explained() -> None:
    cells = [line.split(" | ") for line in page().splitlines() if line.startswith("| ")][1:]
    assert len(cells) == len(ROWS)
    assert {row[0].removeprefix("| ") for row in cells if row[4] in ("no", "in part")} == {
        row["what"] for row in ROWS if "missed" in row}


def test_a_note_stands_on_a_goal_that_is_reached_and_under_its_own_heading() -> None:
    noted = [row["what"] for row in ROWS if "note" in row]
    assert noted and not [row["what"] for row in ROWS if "note" in row and "missed" in row]
    notes = page().split("\n## Notes\n")[1].split("\n## ")[0]
    assert [line.split("**")[1] for line in notes.splitlines() if line] == noted
