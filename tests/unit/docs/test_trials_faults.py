"""docs/trials-faults.md names a test for each fault, and that test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROWS = [line.split(" | ") for line in (ROOT / "docs/trials-faults.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| Fault")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].lstrip("| "))
def test_every_fault_has_a_test(row: list[str]) -> None:
    found = re.fullmatch(r"`(\w+\.py)::(test_\w+)` \|", row[3])
    assert found, row[3]
    assert f"def {found[2]}(" in (ROOT / "tests/unit/trials" / found[1]).read_text()
    assert row[2] in ("0", "1", "3", "4", "130")
