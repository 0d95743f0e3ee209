"""In a pipe a long fix that several lines of one check have stands once; the others say of which line it is."""

from __future__ import annotations

import pytest
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
