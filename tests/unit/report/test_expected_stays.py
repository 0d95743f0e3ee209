"""What is wrong and does not fit into the lines that it has keeps what was expected: the middle is left out, not the
end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.report.all_reports import reports
from tests.unit.report.test_one_screen import WRONG

from tunecheck.model.finding import Finding
from tunecheck.report.grouping import Fold
from tunecheck.report.one_screen.sentence import sentence
from tunecheck.report.style import GOES_ON, Style

#: What was expected and is longer may be cut: it would leave no room for what is wrong.
_SHORT = 52


def _said(found: Finding, most: int, width: int = 80) -> str:
    lines = sentence(Fold(found.text, (found,)), Style(width), most)
    assert len(lines) <= most and all(len(line) <= width for line in lines)
    return " ".join(" ".join(lines).split())


def _wrong(outcome: str) -> Iterator[Finding]:
    seen = set()
    for each in reports():
        for found in each.findings:
            if found.outcome == outcome and (found.text, found.expected) not in seen:
                seen.add((found.text, found.expected))
                yield found


def test_in_two_lines_every_failure_says_what_was_expected() -> None:
    found = list(_wrong("fail"))
    lost = [said for each in found if each.expected and len(each.expected) <= _SHORT
            and not (said := _said(each, 2)).endswith(f"; expected {each.expected}")]
    assert len(found) > 200 and lost == []


def test_in_two_lines_every_warning_is_a_whole_statement() -> None:
    found = list(_wrong("warn"))
    assert len(found) > 150 and [said for each in found if (said := _said(each, 2)).endswith(GOES_ON)] == []


def test_in_one_line_most_warnings_are_a_statement_or_say_what_was_expected() -> None:
    """A floor: seven of ten."""
    kinds = {(found.id, found.code): _said(found, 1) for found in _wrong("warn")}
    cut = [said for said in kinds.values() if said.endswith(GOES_ON)]
    assert len(kinds) > 150 and len(cut) < len(kinds) * 3 / 10, (len(kinds), cut)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("expected", ["5 GB/s", "as fast as the others"])
def test_the_middle_of_a_long_sentence_is_left_out(width: int, expected: str) -> None:
    found = replace(WRONG, id="x", code="x", outcome="fail", expected=expected,
                    text=f"GPU0-GPU1 carries 2.5 GB/s (of 50); {'and so on ' * 30}")
    said = _said(found, 2, width)
    assert said.startswith("FAIL x: GPU0-GPU1 carries 2.5 GB/s (of 50)")
    assert said.endswith(f"{GOES_ON}; expected {expected}")


def test_no_command_is_left_in_half_before_what_was_expected() -> None:
    command = "sudo nvidia-smi --gpu-reset -i 0000:03:00.0"
    for before in range(10, 140):
        found = replace(WRONG, id="x", code="x", outcome="fail", expected="none",
                        text=f"{'w' * 5} {'of words ' * (before // 9)}: {command} and {'more ' * 40}")
        said = _said(found, 2)
        assert command in said or "nvidia-smi" not in said, said


def test_a_gpu_is_told_without_its_address_where_that_makes_a_sentence_fit() -> None:
    found = replace(WRONG, id="gpu-x", code="x", outcome="warn", subject="GPU0 0000:03:00.0", expected="",
                    text=f"GPU0 0000:03:00.0: {'is slow ' * 6}indeed; {'and so on ' * 9}")
    assert _said(found, 1) == f"WARN gpu-x: GPU0: {'is slow ' * 6}indeed"


def test_what_was_expected_says_of_what_its_numbers_are() -> None:
    """Behind "expected", "0-7" alone is a count, a range or numbers of something."""
    assert {(each.id, each.expected) for report in reports() for each in report.findings
            if re.fullmatch(r"\d[\d,]*-[\d,-]*", each.expected)} == set()
