"""``tunecheck explain`` takes a word as a reader has it: however its parts are joined, and with what stands around it
in a report. --list has all of them."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from tests.unit.cli.test_init import flaw_of
from tests.unit.report.all_reports import reports

from tunecheck.cli.main import cli
from tunecheck.errors import Misuse, UsageError
from tunecheck.parsers.containers.variable_words import VARIABLES
from tunecheck.report.check_pages import WORDS, asked_for, page
from tunecheck.report.words import terms
from tunecheck.report.words.document_words import told
from tunecheck.report.words.fleet_words import EVENT_WORDS
from tunecheck.report.words.terms import term
from tunecheck.rules.index import BY_ID, CHECKS

_SAID = [word for word in (*WORDS, *terms._ALSO) if word not in ("NV#", "Xid N")]
_BETWEEN = re.compile(r"(?<=[A-Za-z0-9])[\s_-](?=[A-Za-z0-9])")
_PARTED = [word for word in _SAID if _BETWEEN.search(word) and word not in VARIABLES]


#: A check, a code and a value of a document have pages of their own.
_OTHERS = {*BY_ID, *(each.replace("-", " ") for each in BY_ID), *(each.replace("-", "_") for each in BY_ID),
           *(code for check in CHECKS for code in check.codes)}


def _meaning(text: str) -> str:
    """A page without its own name, which is as it was typed."""
    return text.partition(": ")[2]


@pytest.mark.parametrize("word", _PARTED)
@pytest.mark.parametrize("joined", [" ", "-", "_"])
def test_a_word_of_several_parts_is_one_however_they_are_joined(word: str, joined: str) -> None:
    for typed in (_BETWEEN.sub(joined, word), _BETWEEN.sub(joined, word.lower())):
        assert asked_for([typed]) == [typed]
        meant = term(word)
        other = typed.lower() in _OTHERS or told(typed)
        assert meant and (_meaning(page(typed)).startswith(_meaning(meant).rstrip()) or other), typed


@pytest.mark.parametrize("code", sorted({code for check in CHECKS for code in check.codes} & {
    re.sub(r"[ _]", "-", word.lower()) for word in _SAID}))
def test_a_code_that_looks_like_a_word_is_explained_as_a_code(code: str) -> None:
    assert f"{code}\n" in page(code) or "A code that a check gives its findings" in page(code)


@pytest.mark.parametrize("around", ["{}:", "{}.", "({})", '"{}"', "'{}'", "`{}`", "[{}]", "{}?", "{},", "({}):"])
def test_what_stands_around_a_word_is_no_part_of_it(around: str) -> None:
    for word in (*_SAID, *BY_ID):
        (asked,) = asked_for([around.format(word)])
        assert page(asked) and asked.strip("\"'`()[]:.?,") == word, (word, asked)


@pytest.mark.parametrize("between", [" or ", " and ", ", ", "/", " OR "])
def test_words_of_a_sentence_are_asked_for_one_by_one(between: str) -> None:
    assert asked_for([f"PIX{between}host bridge"]) == ["PIX", "host bridge"]


def test_the_list_has_every_word_that_has_a_page() -> None:
    done = CliRunner().invoke(cli, ["explain", "--list"])
    listed = " ".join(done.stdout.split()).split(", ")
    known = {each.upper() for source in (*terms._SOURCES, EVENT_WORDS, terms._RECOVERY, VARIABLES) for each in source}
    assert done.exit_code == 0 and known <= {each.upper() for each in listed}
    assert len(listed) == len({each.upper() for each in listed}), "each once"
    for word in listed:
        if word not in ("NV#", "Xid N"):
            assert [page(each) for each in asked_for([word])], word


def test_the_list_takes_no_word() -> None:
    assert flaw_of(CliRunner().invoke(cli, ["explain", "--list", "PIX"])) is Misuse.DOES_NOT_BELONG


@pytest.mark.parametrize("word", ["qqqqq", "é", "\x1b[31mq", "q" * 2000])
def test_who_finds_no_word_is_told_what_lists_them(word: str) -> None:
    """The commands that it names do what it says."""
    with pytest.raises(UsageError) as told:
        page(word)
    commands = re.findall(r"`tunecheck ([^`]+)`", str(told.value))
    assert commands == ["checks", "explain --list"]
    assert all(CliRunner().invoke(cli, command.split()).exit_code == 0 for command in commands)


_REPORTED = re.compile(r"(?<![\w./=*<$'\"`-])((?:[A-Z][a-z]+){2,}[+-]|GPU\d+-GPU\d+)(?![\w./=*>])")


def test_a_flag_and_a_pair_that_a_report_prints_have_a_page() -> None:
    texts = {text for each in reports() for found in each.findings
             for text in (found.text, found.expected, found.remedy.text if found.remedy else "")}
    said = {word for text in texts for word in _REPORTED.findall(text)}
    assert {"ReqRedir-", "RlxdOrd+", "GPU0-GPU1"} <= said
    for word in sorted(said):
        assert asked_for([word]) == [word] and term(word), word


def test_a_page_of_a_flag_says_what_its_sign_says() -> None:
    assert "is on" in page("ReqRedir+") and "is off" in page("ReqRedir-") and "# ReqRedir-: " in page("ReqRedir-")
    assert asked_for(["ReqRedir- CmpltRedir- EgressCtrl-"]) == ["ReqRedir-", "CmpltRedir-", "EgressCtrl-"]
    assert term("PIX-") is None, "no flag"
