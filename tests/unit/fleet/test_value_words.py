"""No value is written for people as a program writes a mapping."""

from __future__ import annotations

import pytest
from tests.unit.facts.trees import full
from tests.unit.report.boxes import switches

from tunecheck.facts.registry import ENTRIES
from tunecheck.facts.registry.flatten import flatten
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored
from tunecheck_fleet.judge.like.began import said
from tunecheck_fleet.outputs.text import shown
from tunecheck_fleet.value_words import _WITH_UNIT, measured, value_text


@pytest.mark.parametrize("box", ["many", "two"])
def test_no_value_of_any_fact_is_written_as_a_program_writes_it(box: str) -> None:
    """Whatever a fact of a box holds; and what it says is the same in a sentence of a verdict."""
    machine = switches(8 if box == "many" else 2)
    flat = flatten(Stored(gather(full(machine).host(), None, True), None))
    mappings = {fact: value for fact, value in flat.known.items() if isinstance(value, dict)}
    assert len(mappings) > 15
    texts = [text for fact, value in mappings.items() for text in (shown(measured(fact, value)), said(fact, value))]
    assert [text for text in texts if "{" in text or "}" in text] == []


@pytest.mark.parametrize(("value", "text"), [
    ({"Downstream Port 0x001d": 8, "none": 4}, "8 x Downstream Port 0x001d, 4 x none"),
    ({"a, b": 2}, '2 x "a, b"'), ({}, "(none)"), ({"iommu": "pt", "pci": ["a", "b"]}, "iommu=pt, pci=[a, b]"),
    ({"log": {"max": 3}, "cdi": True}, "log=(3 x max), cdi=true"), ({"gb_s": 22.1}, "gb_s=22.1"),
])
def test_a_mapping_is_words(value: object, text: str) -> None:
    assert value_text(value) == text


_MEASURED = sorted(entry.name for entry in ENTRIES if entry.unit in _WITH_UNIT)


@pytest.mark.parametrize("fact", _MEASURED)
def test_a_number_has_its_unit_also_beside_what_has_no_number(fact: str) -> None:
    """Of eight boards one may tell no limit: {"600000": 7, "none": 1}."""
    alone = measured(fact, {"600000": 7})
    assert alone == f"7{measured(fact, {'600000': 1})[1:]}" != "7 x 600000"
    assert measured(fact, {"600000": 7, "none": 1}) == f"{alone}, 1 x none"
    assert measured(fact, {"none": 8}) == {"none": 8}
