"""Where not every fix fits on the screen, those of the least grave entries are left out first: no entry that fails is
without its fix while one that does not fail, or a failure below it, shows one."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.report.all_reports import reports
from tests.unit.report.test_one_screen import CASE, ROOT, WRONG

from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.context import Case

_ROW = re.compile(r"(FAIL|UNKNOWN|WARN|PASS|SKIP) +([\w-]+)")
_FIX = re.compile(r"\s+fix(?: for these (\d+))?\b")


def _rows(lines: list[str]) -> Iterator[tuple[str, str, bool]]:
    """The outcome of each row, its first word, and whether a fix for it is shown."""
    rows: list[tuple[str, str, bool]] = []
    for line in lines:
        if found := _ROW.match(line):
            rows.append((found[1], found[2], False))
        elif (found := _FIX.match(line)) and rows:
            many = int(found[1] or 1)
            rows[-many:] = [(outcome, name, True) for outcome, name, _ in rows[-many:]]
    yield from rows


def _lost(case: Case, verb: str, findings: list[Finding], width: int, imported: bool) -> list[str]:
    """The rows that show a fix below a failure that has one and does not show it. The outputs to add are said by one
    entry alone, and so is which text is in doubt: these keep their fix whatever happens."""
    lines = render(verb, case, findings, Style(width), imported=imported).splitlines()
    has = {finding.id for finding in findings if finding.remedy}
    lacks = {finding.id for finding in findings if not finding.remedy}
    rows = list(_rows(lines))
    at = next((at for at, (outcome, name, shown) in enumerate(rows)
               if outcome == "FAIL" and name in has - lacks and not shown), len(rows))
    return [f"{outcome} {name} below {rows[at][1]}" for outcome, name, shown in rows[at:]
            if shown and not (outcome == "UNKNOWN" and name.isdigit())]


def _some(chosen: random.Random) -> list[Finding]:
    """Failures and warnings of many lengths, with fixes of many lengths, some of which several checks share."""
    found = []
    for number in range(chosen.randint(20, 45)):
        outcome = chosen.choice(("fail", "fail", "warn", "unknown"))
        share = chosen.randint(0, 9)
        what = str(number) if share < 7 else f"all of {outcome} {share}"
        fix = f"do {what} {'with `a tool` and more ' * chosen.choice((0, 1, 4, 20))}"
        found.append(replace(WRONG, id=f"check-{number}{'-long' * chosen.randint(0, 9)}", outcome=outcome,
                             text="it is wrong " * chosen.choice((1, 5, 12)), remedy=Remedy(fix.strip())))
    return [*found, *[ROOT] * chosen.randint(0, 1)]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_failure_loses_its_fix_before_what_is_less_grave(width: int) -> None:
    lost = {seed: found for seed in range(60)
            if (found := _lost(CASE, "host", _some(random.Random(seed)), width, False))}
    assert lost == {}


def test_on_no_box_a_failure_loses_its_fix_before_what_is_less_grave() -> None:
    many = [each for each in reports() if sum(found.outcome == "fail" for found in each.findings) > 7]
    lost = {(each.name, width): found for each in many for width in (60, 80)
            if (found := _lost(each.case, each.verb, each.findings, width, each.imported))}
    assert len(many) > 3 and lost == {}


@pytest.mark.parametrize("width", [72, 80, 90, 100])
def test_which_texts_to_add_is_said_after_the_fix_of_what_comes_first(width: int) -> None:
    """-v says as well which outputs to add."""
    lost, judged = [], 0
    for each in reports():
        if each.imported:
            has = {finding.id for finding in each.findings if finding.remedy}
            lines = render(each.verb, each.case, each.findings, Style(width), imported=True).splitlines()
            rows = list(_rows(lines))
            first = next(((name, shown) for outcome, name, shown in rows
                          if outcome in ("FAIL", "WARN") and name in has), None)
            judged += first is not None
            if first and not first[1] and any(shown and name.isdigit() for outcome, name, shown in rows
                                              if outcome == "UNKNOWN"):
                lost.append(f"{each.name}: {first[0]}")
    assert judged > 3 and lost == []
