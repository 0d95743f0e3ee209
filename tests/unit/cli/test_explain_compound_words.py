"""``tunecheck explain`` answers words of several parts as reports print them: a technical word with a noun behind it,
and the id of a check in words."""

from __future__ import annotations

import re

import pytest
from tests.unit.report.all_reports import reports

from tunecheck.errors import UsageError
from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.words.compound_words import COMPOUND_WORDS
from tunecheck.rules.index import CHECKS

_VERBATIM = re.compile(r"(?s)`[^`\n]*`|\"[^\"\n]*\"")
#: A word with capitals, or with one in front, and the word behind it.
_PAIR = re.compile(r"(?<![\w./=*<$'-])([A-Z][a-z]+|\w*[A-Z][\w-]*[A-Z0-9]\w*|PCIe) ([A-Za-z][\w-]+)(?![./=*>])")
#: Nouns that make one word with what stands before them.
_NOUNS = {"redirect", "tree", "id", "ids", "ID", "switch", "switches", "node", "nodes", "port", "capability", "option",
          "bit", "bits", "control", "group", "balancing", "Storage", "RDMA", "Boot", "Manager", "BAR", "mode", "size",
          "instance", "domain", "recovery", "error", "errors", "device", "devices", "fabric", "firmware", "policy",
          "specification", "specifications", "module", "mismatch", "clock", "memory", "Express", "RPC"}
#: Words of a log or of a vendor's text, as they stand there; and a noun that is no part of the word.
_QUOTED = {"Unknown option", "CUDA error", "PRIV error", "NCCL error", "NVLink error", "SRAM errors"}


def _known(word: str) -> bool:
    try:
        return bool(page(word))
    except UsageError:
        return False


def test_every_word_of_two_parts_in_a_report_has_a_page() -> None:
    said: dict[str, str] = {}
    for each in reports():
        for found in each.findings:
            text = f"{found.text}; {found.expected}; {found.remedy.text if found.remedy else ''}"
            said |= {f"{first} {noun}": found.id for first, noun in _PAIR.findall(_VERBATIM.sub(" ", text))
                     if noun in _NOUNS}
    assert {"ACS redirect", "APIC id", "GPUDirect Storage", "NUMA nodes", "PCIe switch"} <= said.keys()
    assert {word: check for word, check in said.items() if word not in _QUOTED and not _known(word)} == {}
    assert [word for word in _QUOTED if word not in said or _known(word)] == [], "an exception that is none"


@pytest.mark.parametrize("check", [check.id for check in CHECKS if "-" in check.id])
def test_the_id_of_a_check_in_words_is_that_check(check: str) -> None:
    for typed in (check.replace("-", " "), check.replace("-", " ").title()):
        assert asked_for(typed.split()) == [typed]
        assert f"explain {check}" in page(typed) or page(typed) == page(check)


@pytest.mark.parametrize("word", [*COMPOUND_WORDS, "retimer", "BAR1", "root port", "link width", "host bridge"])
def test_a_word_is_asked_for_as_it_is_printed(word: str) -> None:
    """In one argument or in several, alone and beside another."""
    for typed in (word, word.upper(), word.lower()):
        assert asked_for([typed]) == asked_for(typed.split()) == [typed] and _known(typed)
    assert asked_for(["PIX,", *word.split()]) == ["PIX", word]
