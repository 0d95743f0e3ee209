"""docs/watch-faults.md names a test for each fault, and that test is there; its codes are those of the watch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tunecheck.recovery.model import Step, Why
from tunecheck.watch.model import Code, State

ROOT = Path(__file__).resolve().parents[3]
ROWS = [line.split(" | ") for line in (ROOT / "docs/watch-faults.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| Fault")]
#: What else stands in such quotes in the column of what is seen.
_OTHERS = {"on_stall", "/run"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].lstrip("| "))
def test_every_fault_has_a_test(row: list[str]) -> None:
    found = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)` \|", row[2])
    assert found, row[2]
    assert f"def {found[2]}(" in (ROOT / "tests" / found[1]).read_text()
    words = {*State, *Code, *Step, *Why, *_OTHERS}
    assert set(re.findall(r"`([^`]+)`", row[1])) <= words
