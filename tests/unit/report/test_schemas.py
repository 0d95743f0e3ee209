"""docs/documents.md: within a version of a document fields are only added, and a reader takes what it does not know."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.checks.machines import build, spec_of
from tests.unit.report.closed import closed

from tunecheck.facts.snapshot import gather
from tunecheck.report.document import document
from tunecheck.report.plain import to_text
from tunecheck.report.schema_words import ADDED
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck_fleet.schemas import SCHEMAS

ROOT = Path(__file__).resolve().parents[3]
VERBS = {"topo": "topo-1.json", "host": "report-1.json", "preflight": "report-1.json"}


def _document(verb: str) -> Any:
    data = {"machine": "switch", "host": {"spec": {}}}
    frozen = spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, verb != "topo")
    case = Case(snapshot, frozen)
    return json.loads(to_text(document(verb, case, judge(case, verb))))


def _objects(schema: Any, data: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every object of named properties in the document, with its schema."""
    if isinstance(data, dict) and "properties" in schema:
        yield schema, data
        for name, each in data.items():
            yield from _objects(schema["properties"].get(name, {}), each)
    elif isinstance(data, dict) and isinstance(schema.get("additionalProperties"), dict):
        for each in data.values():
            yield from _objects(schema["additionalProperties"], each)
    elif isinstance(data, list) and "items" in schema:
        for each in data:
            yield from _objects(schema["items"], each)


@pytest.mark.parametrize("verb", VERBS)
def test_an_older_document_fits_the_schema(verb: str) -> None:
    schema, data = SCHEMAS[VERBS[verb]], _document(verb)
    taken = 0
    for shape, each in list(_objects(schema, data)):
        for name in [name for name in each if shape["properties"].get(name, {}).get("$comment") == ADDED]:
            del each[name]
            taken += 1
    assert taken > 50
    jsonschema.validate(data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, closed(schema))


@pytest.mark.parametrize("verb", VERBS)
def test_a_later_document_fits_the_schema(verb: str) -> None:
    """More fields, in whatever object, and a check that this release does not have."""
    schema, data = SCHEMAS[VERBS[verb]], _document(verb)
    jsonschema.validate(data, closed(schema))
    shapes = list(_objects(schema, data))
    assert len({id(shape) for shape, _ in shapes}) > 4
    for _, each in shapes:
        each["of a later release"] = {"any": 1}
    data["findings"][0]["id"] = "a-new-check"
    jsonschema.validate(data, schema)


@pytest.mark.parametrize("name", ["topo-1.json", "report-1.json", "fleet-1.json", "acceptance-1.json"])
def test_what_was_there_at_first_is_required_and_typed(name: str) -> None:
    """Open means more fields, not fewer, and not others."""
    schema = SCHEMAS[name]
    assert {"schema", "tunecheck"} <= set(schema["required"]) and len(schema["required"]) > 8
    assert "additionalProperties" not in schema


def test_taking_a_first_field_away_breaks_a_document() -> None:
    data = _document("preflight")
    for gone in ("id", "outcome", "message", "remedy"):
        broken = copy.deepcopy(data)
        del broken["findings"][0][gone]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMAS["report-1.json"])


def test_the_page_names_every_schema_and_every_field_of_a_remedy() -> None:
    text = (ROOT / "docs/documents.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(schema/([a-z0-9-]+\.json)\)", text)) == set(SCHEMAS) == {
        path.name for path in (ROOT / "docs/schema").iterdir()}
    kinds = {schema["properties"]["schema"]["const"] for schema in SCHEMAS.values()}
    assert kinds == set(re.findall(r"`(tunecheck/[a-z-]+/\d+)`", text))
    remedy = SCHEMAS["report-1.json"]["properties"]["findings"]["items"]["properties"]["remedy"]["properties"]
    told = set(re.findall(r"`(?:commands\[\]\.)?([a-z_]+)`", "".join(
        line.split(" | ")[0] for line in text.split("## A remedy")[1].splitlines())))
    assert told == {*remedy, *remedy["commands"]["items"]["properties"]}
