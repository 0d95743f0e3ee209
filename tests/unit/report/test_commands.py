"""A command in a report can be pasted: a terminal's width breaks the sentence around it, and never the command."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.report.large_boxes import large
from tests.unit.report.pasted import broken, too_wide

from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.style import Style, fix_lines, height, unbroken
from tunecheck.report.terminal import render
from tunecheck.rules import judge

WIDTHS = (60, 80, 120)


@cache
def _findings() -> tuple[Finding, ...]:
    """One for each remedy that the checks' cases give."""
    every = [finding for path in CASES for _, case, verb in [case_of(path)] for finding in judge(case, verb)]
    every += [finding for box in large() for finding in box.findings]
    return tuple({finding.remedy: finding for finding in every if finding.remedy}.values())


@pytest.mark.parametrize("width", WIDTHS)
def test_every_command_of_every_remedy_is_unbroken(width: int) -> None:
    assert sum(len(finding.remedy.commands) for finding in _findings() if finding.remedy) > 200
    for finding in _findings():
        assert finding.remedy
        given = [each.shown for each in finding.remedy.commands]
        lines = fix_lines(f"fix: {finding.remedy.text}", Style(width), given)
        assert [each for each in given if not any(each in line for line in lines)] == [], finding.remedy.text
        assert too_wide("\n".join(lines), [finding], width) == []
        # Nothing is lost but what parts a command of its own line from the sentence.
        said, whole = (re.sub(r"[\s.,;:()]", "", text) for text in ("".join(lines), f"fix: {finding.remedy.text}"))
        assert said == whole


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_report_breaks_a_command(width: int, verbose: bool) -> None:
    for box in large():
        text = render(box.verb, box.case, box.findings, Style(width, False, True), verbose, imported=box.imported)
        assert broken(text, box.findings) == [], (box.name, box.verb)
        assert too_wide(text, box.findings, width) == [], (box.name, box.verb)


def test_a_command_that_does_not_fit_has_a_line_of_its_own() -> None:
    long = "sudo setpci -s 0000:02:00.0 ECAP_ACS+6.w=0:2c"
    text = f"fix: run it now (`{long}`); then look: `sudo tunecheck host`.".replace("`", "")
    given = [long, "sudo tunecheck host"]
    assert unbroken(text, given, 40, 2) == [
        "  fix: run it now", f"    {long}", "    then look: sudo tunecheck host."]
    assert unbroken(text, given, 200, 2) == [f"  {text}"] == unbroken(text, given, 0, 2)
    assert unbroken("fix: no command is in it", given, 80, 0) == ["fix: no command is in it"]
    assert height(["x" * 41, "", "\x1b[31;1mFAIL\x1b[0m" + "x" * 36], 40) == 4


def test_a_command_counts_for_the_screen_as_the_terminal_shows_it() -> None:
    case = large()[0].case
    remedy = Remedy.typed("run `sudo setpci -s {a}`", a="x" * 900)
    many = [Finding(f"check-{number}", "any-code", f"s{number}", "fail", "effective", "it is wrong", remedy=remedy)
            if number == 0 else Finding(f"check-{number}", "any-code", f"s{number}", "warn", "effective", "it is odd")
            for number in range(60)]
    lines = render("host", case, many, Style(80)).splitlines()
    assert height(lines, 80) <= 60
