"""``tunecheck explain`` knows every word that a field of a JSON document takes one of, and names the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from click import Context
from click.testing import CliRunner
from tests.unit.cli.carried import ROOT

from tunecheck.cli.main import cli
from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.words.document_words import FIELDS, told
from tunecheck.report.words.fleet_words import FLEET_WORDS
from tunecheck.report.words.terms import term
from tunecheck.report.words.watch_reasons import REASONS
from tunecheck.rules.index import CHECKS

#: Their words are verdicts, layers and relations, which have pages of their own, and names of documents.
_OWN_PAGES = ("outcome", "was", "now", "layer", "relation")
_SINGULAR = {"kinds": "kind", "witnesses": "witness"}


def _words(schema: Any, field: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(schema, list):
        for each in schema:
            yield from _words(each, field)
    elif isinstance(schema, dict):
        yield from ((field, each) for each in (*schema.get("enum", ()), schema.get("const")) if isinstance(each, str))
        for key, each in schema.items():
            named = each.items() if key in ("properties", "$defs") else ((field, each),)
            for name, below in named:
                yield from _words(below, name)


_ALL = sorted({(_SINGULAR.get(field, field), word) for path in (ROOT / "docs/schema").glob("*.json")
               for field, word in _words(json.loads(path.read_text())) if word and field != "schema"})
_IDS = {check.id for check in CHECKS}
_VERBS = {*cli.list_commands(Context(cli))}


def test_the_words_of_the_schemas_are_found() -> None:
    assert {("absence", "not-in-import"), ("absence", "only-on-host"), ("code", "tokens-frozen"),
            ("layer", "effective"), ("trial", "one way")} <= set(_ALL)


@pytest.mark.parametrize(("field", "word"), _ALL)
def test_each_has_a_page_that_names_its_field(field: str, word: str) -> None:
    done = CliRunner().invoke(cli, ["explain", "--markdown", *word.split()])
    if word in _VERBS - _IDS and not told(word) and not term(word):
        assert f"tunecheck {word} --help" in str(done.exception)
        return
    assert done.exit_code == 0, done.exception
    known = field in _OWN_PAGES or word in _IDS or word.upper() in FLEET_WORDS or (field == "verb" and word in _VERBS)
    assert known or re.search(rf"^- `{field}`", done.output, re.MULTILINE), done.output


def test_no_word_is_explained_that_no_document_has() -> None:
    taken = {word for _, word in _ALL}
    assert {word for values in FIELDS.values() for word in values} - taken == set()


def test_a_field_of_the_documents_has_all_of_its_words() -> None:
    absences = next(values for field, values in FIELDS.items() if field.startswith("`absence`"))
    assert set(absences) == {word for field, word in _ALL if field == "absence"}
    assert set(REASONS) == {word for field, word in _ALL if field == "code"}


@pytest.mark.parametrize(("file", "begin", "field"), [
    ("docs/codes.md", "| `absence` | Meaning |", "`absence`"), ("docs/watch.md", "\n## Reasons\n", "`code`")])
def test_the_pages_say_the_same(file: str, begin: str, field: str) -> None:
    _, _, table = (ROOT / file).read_text(encoding="utf-8").partition(begin)
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", re.split(r"\n(?=## )|\n\n(?=[A-Z])", table.lstrip())[0],
                      re.MULTILINE)
    said = {word: re.sub(r" ?\(\[[^]]*\]\([^)]*\)\)", "", text).replace("`", "") for word, text in rows}
    assert said == next(values for name, values in FIELDS.items() if name.startswith(field))


def test_a_plain_word_does_not_cut_a_sentence() -> None:
    assert asked_for(["the", "gpu", "has", "fallen", "off"]) == ["the gpu has fallen off"]
    assert asked_for(["one", "way"]) == ["one way"] and asked_for(["not-in-import", "only-on-host"]) == [
        "not-in-import", "only-on-host"]
    assert "only the machine itself" in page("only-on-host")
