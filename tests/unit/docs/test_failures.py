"""docs/failures.md: every row, and no check and no test in them that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tunecheck.rules.index import CHECKS

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines()
        if re.match(r"\| \d+ \|", line)]
NAMES = sorted(set(re.findall(r"`(tests/[^`]+)`", TEXT)))


def test_every_failure_has_a_row() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, len(ROWS) + 1)) and len(ROWS) >= 23
    assert f"\n{len(ROWS)} failures that people reported" in TEXT
    assert all(len(row) == 6 and all(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_real_checks_and_a_test_or_says_that_there_is_none(row: list[str]) -> None:
    checks, tests = row[4], row[5]
    named = re.findall(r"`([^`]+)`", checks)
    assert named and set(named) <= {check.id for check in CHECKS}
    assert "not covered" in tests or re.findall(r"`(tests/[^`]+)`", tests)


@pytest.mark.parametrize("name", NAMES)
def test_every_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).is_file()
    if function:
        assert re.search(rf"^def {re.escape(function)}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    else:
        assert path.startswith(("tests/unit/checks/cases/", "tests/unit/parsers/driver_sets/"))
