"""What is not known and does not fit is counted with the reason, however narrow the screen is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.report.all_reports import reports
from tests.unit.report.test_one_screen import CASE, ROOT, WRONG

from tunecheck.model.absence import Absence
from tunecheck.model.finding import Remedy
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.errors.from_log import only_log_incomplete
from tunecheck.rules.index import CHECKS

_MORE = re.compile(r"UNKNOWN \d+ more (?:findings of \d+ )?checks? \(-v lists them\)(.*)")


def _counted(lines: list[str]) -> Iterator[str]:
    """What stands behind the number of what was left out."""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if found := _MORE.match(f"{line} {following.strip()}"):
            yield found[1]


@pytest.mark.parametrize("width", [80, 100])
def test_on_every_box_what_is_counted_as_not_known_has_its_reason(width: int) -> None:
    seen, wrong = 0, set()
    for each in reports():
        unknown = [found for found in each.findings if found.outcome == "unknown"]
        if len(unknown) < 4 or not all(found.absence or only_log_incomplete(found) for found in unknown):
            continue
        lines = render(each.verb, each.case, each.findings, Style(width), imported=each.imported).splitlines()
        for said in _counted(lines):
            seen += 1
            if not re.match(r",(?: \d+ of them)? as ", said):
                wrong.add((each.name, said))
    assert seen and wrong == set()


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_the_reason_of_most_is_said_before_the_list(width: int) -> None:
    found = replace(ROOT, remedy=None, absence=Absence.TIMED_OUT)
    many = [replace(WRONG, id=check.id, outcome="fail", text=f"{check.id} is wrong " * 9, remedy=Remedy(f"mend {at}"))
            for at, check in enumerate(CHECKS[:55])]
    open_ = [replace(found, id=check.id, subject=check.id) for check in CHECKS[60:90]]
    other = replace(found, id=CHECKS[91].id, absence=Absence.NOT_INSTALLED, remedy=Remedy("install it"))
    for findings, part in ((open_, ""), ([*open_, other], "30 of them ")):
        lines = render("host", CASE, [*many, *findings], Style(width)).splitlines()
        (said,) = _counted(lines)
        assert said.startswith(f", {part}as no answer came in time"), said
