"""No sentence has brackets in brackets: three deep, nobody finds its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, findings_of
from tests.unit.imports.deletion_bases import own

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_BASES = [base for base in own() if base.texts]


def depth(text: str) -> int:
    """How many brackets are open at once; those of a function's name are none."""
    now = most = 0
    for char in text.replace("()", ""):
        now = now + 1 if char == "(" else max(0, now - 1) if char == ")" else now
        most = max(most, now)
    return most


def test_no_finding_of_a_case_has_brackets_in_brackets() -> None:
    deep = {}
    for path in CASES:
        deep.update({(each.id, each.code): each.message for each in findings_of(path) if depth(each.message) > 1})
    assert deep == {}


@pytest.mark.parametrize("base", _BASES, ids=[base.name for base in _BASES])
def test_no_report_of_texts_has_brackets_in_brackets(tmp_path: Path, base: object) -> None:
    """The texts of each machine together, and each alone."""
    texts = base.texts  # type: ignore[attr-defined]
    for name, content in texts.items():
        (tmp_path / name).write_text(content)
    for path in (tmp_path, *(tmp_path / name for name in [*texts][:6])):
        door = load_import(str(path))
        case = Case(gather(door, None, True))
        assert depth(door.summary()) <= 1
        for verb, verbose in (("topo", False), ("preflight", False), ("preflight", True)):
            text = render(verb, case, judge(case, verb), Style(0), verbose, imported=True)
            assert [line for line in text.splitlines() if depth(line) > 1] == [], (path.name, verb)
