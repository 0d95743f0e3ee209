"""Make the file that pins the wording: what every check says in each case of tests/unit/checks/cases, what is said of
each specification that is refused in tests/unit/spec/cases, what reports look like (tests/unit/report/drawn.py), what
`tunecheck explain` says of each word, and, as they stand in the source, the sentences with a code that the modules of
playbooks/ refuse and fail with.

    python -m lab.generators.wording

The cases themselves ask for outcome, code and observed value, or for the place, names and numbers. So a sentence that
is worded anew changes one file, tests/unit/checks/wording.txt, and its diff is the review of the new words."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.checks.test_cases import CASES, case_of, check_of
from tests.unit.report.drawn import drawn
from tests.unit.spec.test_cases import REFUSED, problems_of

from lab.generators.refusals import refusals
from tunecheck.report.check_pages import page
from tunecheck.report.words.terms import NAMES
from tunecheck.rules import judge

__all__ = ["FILE", "wording"]

#: One that is known, one that defers to a second number, one that is in no table.
_XIDS = ("Xid 79", "Xid 154", "Xid 9999")
FILE = Path(__file__).resolve().parents[2] / "tests" / "unit" / "checks" / "wording.txt"
_HEAD = ("What each check says in each of its cases, what is said of each specification that is refused, what reports "
         "look like, what explain says of each word, and why modules refuse. Made by "
         "`python -m lab.generators.wording`; do not edit.\n")


def wording() -> str:
    """One paragraph a case: outcome, code and the whole message of each finding; each problem of a specification; each
    line of a report; each sentence of a module."""
    return _HEAD + "".join([*(_case(path) for path in CASES), *(_refused(path) for path in REFUSED),
                             *(_paragraph(f"report/{name}", [f"  {line}" for line in lines])
                               for name, lines in drawn().items()),
                             *(_paragraph(f"word/{name}", [f"  {line}" for line in page(name).splitlines() if line])
                               for name in (*(each for each in NAMES if each != "Xid N"), *_XIDS)),
                             *(_paragraph(f"module/{name}", [f"  {code}: {text}" for code, text in told])
                               for name, told in refusals().items())])


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
