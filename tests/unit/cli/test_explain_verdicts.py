"""``tunecheck explain`` for a word of the exit codes and outcomes, in the form in which a reader met it: the verdict is
explained first, a finding's code of that name behind it."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from tests.unit.cli.carried import ROOT

from tunecheck.errors import UsageError
from tunecheck.model.finding import OUTCOMES
from tunecheck.recipes.model import Expected, Source
from tunecheck.report.check_pages import page
from tunecheck.report.text_parts import _COUNTED
from tunecheck.report.words.terms import term
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import CHECKS

_PAGES = ("README.md", "docs/fleet.md")     # to which the README sends for the codes of an audit
_BESIDE_CODE = "A code that a check gives its findings. "


def _rows() -> str:
    """The rows of the tables of exit codes."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in _PAGES]
    return "\n".join(row for text in texts for row in re.findall(r"(?m)^\| exit code[^\n]*\n((?:\|[^\n]*\n)+)", text))


def _forms(word: str) -> set[str]:
    return {word, f"{word}s" if word[-1] != "s" else f"{word}es", f"{word}{word[-1] * (word == 'skip')}ed"}


@pytest.mark.parametrize("word", sorted(
    {"wedge", "wedges", "wedged", "hang", "hangs", "hung", "warning", "warnings", "not judged", "unknown"}
    | {form for word in OUTCOMES if word != "unknown" for form in _forms(word)} | set(_COUNTED.values())))
def test_a_verdict_has_its_page_in_every_form(word: str) -> None:
    for asked in (word, word.upper(), word.capitalize()):
        assert term(asked) and page(asked).startswith(f"# {asked}: "), page(asked)


def test_no_word_of_the_exit_codes_is_answered_by_a_code_alone() -> None:
    words = sorted(set(re.findall(r"[a-z]{3,}", _rows().lower())))
    assert {"hung", "wedged", "failed", "unknown", "pass"} <= set(words)
    alone = []
    for word in words:
        try:
            alone += [word] if _BESIDE_CODE in page(word) else []
        except UsageError:
            continue
    assert alone == []


def test_a_code_of_the_same_name_is_told_behind() -> None:
    codes = {code: check for check in CHECKS for code in check.codes if term(code) and code not in COMMON}
    assert {"wedged", "hung"} <= codes.keys()
    for code, check in codes.items():
        text = page(code)
        assert check.codes[code] in text and text.index(check.codes[code]) > text.index("\n")


#: As JSON and the page write a finding's layer.
_LAYERS = re.findall(r'"(\w+)"', re.findall(
    r'"layer": \{\s*"enum": \[([^]]*)\]', (ROOT / "docs/schema/report-1.json").read_text(encoding="utf-8"))[0])


@pytest.mark.parametrize("word", sorted({
    *_LAYERS, *get_args(Source.model_fields["status"].annotation),
    *get_args(Expected.model_fields["counted_by"].annotation)}))
def test_a_word_of_a_list_or_page_has_its_page(word: str) -> None:
    """The layers of findings, and what stands in the columns of `tunecheck recipe list`."""
    for asked in (word, word.upper()):
        assert term(asked) and page(asked).startswith(f"# {asked}: "), page(asked)
