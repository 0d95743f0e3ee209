"""docs/boot-matrix.md shows what lab.bench.matrix saw, and names every fault and the test of the power cuts."""

from __future__ import annotations

import json
from pathlib import Path

from lab.generators.boot_matrix import PAGE, SEEN, page
from lab.matrix.cells import CELLS
from lab.matrix.columns import COLUMNS
from lab.matrix.power_cuts import PHASES

ROOT = Path(__file__).resolve().parents[3]
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_of_what_was_seen() -> None:
    assert page(TEXT) == TEXT, "run: PYTHONPATH=checks:. python -m lab.generators.boot_matrix"


def test_what_was_seen_is_of_cells_and_columns_that_there_are() -> None:
    document = json.loads(SEEN.read_text())
    assert set(document["cells"]) <= set(CELLS)
    for seen in document["cells"].values():
        assert set(seen) <= set(COLUMNS) and all(found["outcome"] for found in seen.values())


def test_the_page_names_the_test_of_the_power_cuts_and_how_many_points_each_phase_has() -> None:
    staging, reboot, commit = (len(phase.points) for phase in PHASES.values())
    said = f"at {staging} points while it stages the trial, at {reboot} around the reboot, at {commit} while it proves"
    assert said in " ".join(TEXT.split()) and "tests/lab/test_power_cut.py" in TEXT
