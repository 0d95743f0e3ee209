"""What does not fit into a line is said by its first clause, which carries the outcome, and a short fix is shown before
the tail of a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.report.all_reports import reports
from tests.unit.report.test_one_screen import WRONG, shown

from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.grouping import Fold
from tunecheck.report.one_screen.sentence import sentence
from tunecheck.report.style import GOES_ON, Style

_TAIL = "and " + "so on, in many words, " * 9


def _line(found: Finding, many: int = 1) -> str:
    (line,) = sentence(Fold(found.text, (found,) * many), Style(80), 1)
    return line


@pytest.mark.parametrize("outcome", ["warn", "unknown"])
@pytest.mark.parametrize(("text", "said"), [
    ("the swap is used; {tail}", "the swap is used"),
    ("the swap (of 8 GiB) is used; {tail}", "the swap (of 8 GiB) is used"),
    ("the swap ({tail}) is used; and more", "the swap is used"), ("the swap {tail}; and more", None),
    ("it is used ({tail}), {tail}; and more", None),
])
def test_a_first_clause_is_a_sentence(text: str, said: str | None, outcome: str) -> None:
    line = _line(replace(WRONG, id="x", code="x", outcome=outcome, text=text.format(tail=_TAIL), expected="y"))
    expected = "; expected y" if outcome == "warn" else ""      # of what is unknown nothing is expected
    assert len(line) <= 80
    if said:
        assert line == f"{outcome.upper():<8}x: {said}{expected}"
    else:       # what stands in brackets is not left open before what was expected
        assert line.endswith(GOES_ON if "(" in text else f"{GOES_ON}{expected}")


def test_of_several_the_first_ones_name_gives_way() -> None:
    who = "GPU0 0000:00:06.0 of a long name"
    text = f"{who}: the links above its own one are not given; y"
    found = replace(WRONG, id="x", outcome="unknown", subject=who, text=text)
    assert _line(found, 2) == "UNKNOWN x (2): the links above its own one are not given"
    assert who in _line(replace(found, text=f"{who}: not given; {_TAIL}"), 2)


@pytest.mark.parametrize("outcome", ["warn", "unknown"])
def test_what_fails_keeps_what_it_says(outcome: str) -> None:
    found = replace(WRONG, id="x", text=f"the swap is used; {_TAIL}")
    assert _line(replace(found, outcome="fail")).endswith(GOES_ON)
    assert not _line(replace(found, outcome=outcome)).endswith(GOES_ON)


@pytest.mark.parametrize("count", [12, 20, 26])
def test_short_fixes_come_before_longer_sentences(count: int) -> None:
    many = [replace(WRONG, id=f"check-{number}", text=f"it is odd; {_TAIL}", remedy=Remedy(f"do {number}"))
            for number in range(count)]
    lines = shown(many).splitlines()
    assert len(lines) <= 60
    assert sum(line.startswith("        fix: do ") for line in lines) == min(count, 28)
    assert not any(line.endswith(GOES_ON) for line in lines if line.startswith("WARN"))


def test_what_boxes_are_warned_of_is_mostly_whole_in_one_line() -> None:
    """A floor: of five things that a terminal of 80 columns warns of, three have a line that is no beginning alone."""
    lines = {(found.id, found.code): _line(found) for each in reports() for found in each.findings
             if found.outcome == "warn"}
    cut = [line for line in lines.values() if line.endswith(GOES_ON)]
    assert len(lines) > 150 and len(cut) < len(lines) * 2 / 5, (len(lines), cut)
