"""`explain FACT` names the check that finds it when that fact alone goes bad: every case of a check is judged with and
without each of its values, and tells which fact that moved, and which check found it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.test_cases import CASES, read

from tunecheck.facts.registry import flatten
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored
from tunecheck.report.fact_pages import fact_page
from tunecheck.rules import judge
from tunecheck.rules.context import Case

#: Parts of a case that hold values by name, and those that hold names of such.
_PARTS, _NESTED = ("files", "lists", "runs", "realpaths"), ("nvml", "config")
#: Facts that no case changes alone in a way that the check is about: another number of boards needs the whole tree, a
#: loaded driver comes with its files, and the relations that the driver tells are judged where there is no tree.
_NOT_ALONE = ("pcie.accelerators", "driver.loaded", "pcie.relation_told")


def _without(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The case without each of its values."""
    for part in _PARTS:
        for name in data.get(part) or ():
            yield {**data, part: {key: value for key, value in data[part].items() if key != name}}
    for part in _NESTED:
        for name, values in data.get(part, {}).items():
            for each in values if isinstance(values, dict) else ():
                yield {**data, part: {**data[part], name: {key: own for key, own in values.items() if key != each}}}


def _told(data: dict[str, Any]) -> tuple[dict[str, Any], set[tuple[str, str, str]]]:
    """The facts of the case, and what is found: check, subject, code."""
    verb, frozen = data.get("verb", "preflight"), spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, verb != "topo")
    found = judge(Case(snapshot, frozen, False, None, None), verb)
    return dict(flatten(Stored(snapshot, frozen)).known), {
        (each.id, each.subject, each.code) for each in found if each.outcome in ("fail", "warn")}


@cache
def _found_by() -> dict[str, set[str]]:
    """Fact -> the checks that find something where it alone is another one."""
    found: dict[str, set[str]] = {}
    for data in map(read, CASES):
        if "measured" in data or "before" in data:
            continue
        bad, seen = None, set[tuple[str, str, str]]()
        for other in _without(data):
            if bad is None:
                bad, seen = _told(data)
            good, before = _told(other)
            changed = [fact for fact in {**good, **bad} if good.get(fact) != bad.get(fact)]
            if len(changed) == 1 and seen - before:
                found.setdefault(changed[0], set()).update(check for check, _, _ in seen - before)
    return found


def test_the_check_that_a_fact_names_finds_it() -> None:
    wrong, right = {}, set()
    for fact, checks in _found_by().items():
        named = set(fact_page(fact).partition(": tunecheck explain ")[2].partition("\n")[0].split())
        if named and not named & checks:
            wrong[fact] = (named, checks)
        elif named:
            right.add(fact)
    assert set(wrong) <= set(_NOT_ALONE), wrong
    assert len(right) > 30


@pytest.mark.parametrize("fact", ["gpu.remap_failed", "gpu.remap_pending"])
def test_a_row_that_waits_or_cannot_be_remapped_is_found_by_the_check_of_memory(fact: str) -> None:
    assert "gpu-ecc" in _found_by()[fact] and "The check gpu-ecc judges it" in fact_page(fact)
