"""Who sees a table in which pairs have no peer-to-peer is told which, and never that nothing is wrong; each letter
names what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.report.all_reports import reports

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.report.check_pages import page
from tunecheck.report.posted import meanings, refused
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_LETTERS = ("OK", "CNS", "GNS", "TNS", "NS", "DR", "U")
_SUBJECTS = {"r": "peer-to-peer", "w": "peer-to-peer", "n": "NVLink", "a": "atomics", "p": "PCIe peer access",
             "?": "what the table is about"}


def _table(word: str, letter: str, few: bool, count: int = 4) -> str:
    """One table of `nvidia-smi topo -p2p`; ``few``: only the first two GPUs do not reach each other."""
    rows = [" \t" + "\t".join(f"GPU{number}" for number in range(count))]
    rows += [f" GPU{a}\t" + "\t".join("X" if a == b else word if not few or {a, b} == {0, 1} else "OK"
                                       for b in range(count)) for a in range(count)]
    front = f"$ nvidia-smi topo -p2p {letter}\n" if letter != "?" else ""
    return front + "\n".join(rows) + "\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"


@pytest.mark.parametrize("width", [0, 80])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("letter", ["r", "w", "?"])
@pytest.mark.parametrize("word", _LETTERS[1:])
def test_a_table_without_peers_is_never_well(tmp_path: Path, word: str, letter: str, few: bool, width: int) -> None:
    (tmp_path / "p2p.txt").write_text(_table(word, letter, few))
    case = Case(gather(load_import(str(tmp_path)), None, True))
    text = " ".join(render("preflight", case, judge(case, "preflight"), Style(width), imported=True).split())
    assert "nothing wrong" not in text
    assert (f"2 of 12 ordered pairs are {word}" if few else f"every pair is {word}") in text
    assert ("the text does not say" in text) is (letter == "?")


@pytest.mark.parametrize("letter", ["n", "a", "p"])
@pytest.mark.parametrize("word", _LETTERS)
def test_what_peers_do_not_need_refuses_nothing(tmp_path: Path, word: str, letter: str) -> None:
    (tmp_path / "p2p.txt").write_text(_table("OK", "r", False) + "\n" + _table(word, letter, False))
    case = Case(gather(load_import(str(tmp_path)), None, True))
    assert set(case.snapshot.posted.letters) == {"r", letter} and refused(case.snapshot) == []
    assert "no fault seen" in render("preflight", case, judge(case, "preflight"), Style(0), imported=True)


def test_no_report_with_such_a_table_is_well() -> None:
    if not (found := [each for each in reports() if refused(each.case.snapshot)]):
        pytest.skip("no such table among the project's own texts; TUNECHECK_SAMPLES names others")
    for each in found:
        text = render(each.verb, each.case, each.findings, Style(80), imported=each.imported)
        assert "nothing wrong" not in text, each.name


@pytest.mark.parametrize("word", _LETTERS)
def test_a_letter_names_what_is_refused(word: str) -> None:
    head = page(word).partition("\n")[0]
    assert "peer-to-peer" in head
    told = {table: meanings([word], table)[0] for table in _SUBJECTS}
    assert [table for table, subject in _SUBJECTS.items() if subject not in told[table]] == []
    vague = re.compile(r"\b(?:support|allow|forbid|refuse)s? it\b|= it\b|: it\b")
    assert not [text for text in (head, *told.values()) if vague.search(text)]
