"""Make the file that pins the wording: what every check says in each case of tests/unit/checks/cases, and what is said
of each specification that is refused in tests/unit/spec/cases.

    python -m lab.generators.wording

The cases themselves ask for outcome, code and observed value, or for the place, names and numbers. So a sentence that
is worded anew changes one file, tests/unit/checks/wording.txt, and its diff is the review of the new words."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.checks.test_cases import CASES, case_of, check_of
from tests.unit.spec.test_cases import REFUSED, problems_of

from tunecheck.rules import judge

__all__ = ["FILE", "wording"]

FILE = Path(__file__).resolve().parents[2] / "tests" / "unit" / "checks" / "wording.txt"
_HEAD = ("What each check says in each of its cases, and what is said of each specification that is refused. "
         "Made by `python -m lab.generators.wording`; do not edit.\n")


def wording() -> str:
    """One paragraph a case: outcome, code and the whole message of each finding; each problem of a specification."""
    return _HEAD + "".join([*(_case(path) for path in CASES), *(_refused(path) for path in REFUSED)])


def _case(path: Path) -> str:
    _, case, verb = case_of(path)
    lines = [f"  {finding.outcome} {finding.code}: {finding.message.removeprefix(f'{finding.id}: ')}"
             for finding in judge(case, verb) if finding.id == check_of(path)]
    return _paragraph(f"{path.parent.name}/{path.stem}", lines)


def _refused(path: Path) -> str:
    return _paragraph(f"refused specification/{path.stem}", [f"  {problem}" for problem in problems_of(path)])


def _paragraph(name: str, lines: list[str]) -> str:
    # A message is one line, whatever a host put into it.
    shown = [line.encode("unicode_escape").decode() for line in lines]
    return "\n".join([f"\n{name}", *shown]) + "\n"


def main() -> int:
    FILE.write_text(wording(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
