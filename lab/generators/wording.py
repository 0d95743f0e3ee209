"""Make the file that pins the wording of every check: what it says in each case of tests/unit/checks/cases.

    python -m lab.generators.wording

The cases themselves ask for outcome, code and observed value. So a sentence that is worded anew changes one file,
tests/unit/checks/wording.txt, and its diff is the review of the new words."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.checks.test_cases import CASES, case_of, check_of

from tunecheck.rules import judge

__all__ = ["FILE", "wording"]

FILE = Path(__file__).resolve().parents[2] / "tests" / "unit" / "checks" / "wording.txt"
_HEAD = "What each check says in each of its cases. Made by `python -m lab.generators.wording`; do not edit.\n"


def wording() -> str:
    """One paragraph a case: outcome, code and the whole message of each finding."""
    return _HEAD + "".join(_case(path) for path in CASES)


def _case(path: Path) -> str:
    _, case, verb = case_of(path)
    lines = [f"  {finding.outcome} {finding.code}: {finding.message.removeprefix(f'{finding.id}: ')}"
             for finding in judge(case, verb) if finding.id == check_of(path)]
    # A message is one line, whatever a host put into it.
    shown = [line.encode("unicode_escape").decode() for line in lines]
    return "\n".join([f"\n{path.parent.name}/{path.stem}", *shown]) + "\n"


def main() -> int:
    FILE.write_text(wording(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
