"""In a pipe a long fix that several lines of one check have stands once; the others say of which line it is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.report.all_reports import reports
from tests.unit.report.test_one_screen import CASE, WRONG

from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.style import Style
from tunecheck.report.terminal import render

_LONG = Remedy("look at the slot, at the riser and at the cable of this board, then measure again under load, and " * 2)


def _found(count: int, subject: str) -> list[Finding]:
    return [Finding("swap", "any-code", subject.format(number), "warn", "effective",
                    f"{number} is wrong {'x' * number}", remedy=_LONG) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("subject", ["GPU{}", ""])
def test_a_fix_stands_once(count: int, subject: str) -> None:
    lines = [line for line in render("host", CASE, [*_found(count, subject), WRONG], Style(0)).splitlines()
             if line.startswith("WARN    swap: ") and " is wrong" in line]
    assert len(lines) == count
    assert [_LONG.text in line for line in lines] == [True] + [False] * (count - 1)
    named = [each for each in (subject.format(number) for number in range(count)) if each]
    assert (f"fix for these {count} (" in lines[0]) is (count > 1), "the words of the terminal"
    assert count == 1 or all(name in lines[0].partition("fix for these")[2] for name in named or ["swap"])
    of = subject.format(0) or "the first swap"
    assert all(line.endswith(f"; fix: the same as for {of}, above") for line in lines[1:])


@pytest.mark.parametrize("subject", ["iommu=pt", "GPU0-GPU2, GPU0-GPU3 and {} more"])
def test_subjects_that_do_not_tell_which_lines_are_meant_are_not_named(subject: str) -> None:
    other = replace(_found(1, "")[0], text="before it, with another fix", remedy=Remedy("do something else"))
    found = _found(2, subject)
    for before, of in (([], "the first swap"), ([other], '"0 is wrong "')):
        lines = [line for line in render("host", CASE, [*before, *found], Style(0)).splitlines()
                 if " is wrong" in line]
        assert f"; fix for these 2 (lines of swap): {_LONG.text}" in lines[0]
        assert lines[1].endswith(f"; fix: the same as for {of}, above")


def test_no_report_names_the_same_twice_or_a_list_as_the_lines_of_a_fix() -> None:
    """"fix for these 2 (...)" names one thing for each of the lines."""
    wrong = set()
    for each in reports():
        text = render(each.verb, each.case, each.findings, Style(0), imported=each.imported)
        for count, names in re.findall(r"fix for these (\d+) \(((?:[^()]|\([^()]*\))*)\): ", text):
            named = re.sub(r" and (\d+) more$", "", names).split(", ")
            if not names.startswith("lines of ") and (len(set(named)) < len(named) or len(named) > int(count)):
                wrong.add((each.name, count, names))
    assert wrong == set()
