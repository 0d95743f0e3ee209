"""A text that is missing makes no other fault of one that is told: a check that finds something of a subject with and
without that text finds the same thing, so that a night without the text is no news in a fleet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.unit.imports.deletion_bases import own, real
from tests.unit.imports.deletions import Base, snapshot_of

from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck_fleet.model import fault_of

#: What it says is about the texts themselves.
_OF_TEXTS = ("kernel-log-complete",)


def _found(base: Base, folder: Path) -> dict[tuple[str, str], set[str]] | None:
    """(check, subject) -> the faults that are found."""
    snapshot = snapshot_of(base, folder)
    if snapshot is None:
        return None
    found: dict[tuple[str, str], set[str]] = {}
    for each in judge(Case(snapshot, base.spec), "preflight"):
        if each.outcome in ("fail", "warn") and each.id not in _OF_TEXTS:
            found.setdefault((each.id, each.subject), set()).add(fault_of(each.id, each.code))
    return found


def _bases() -> Iterator[Base]:
    samples = Path(os.environ.get("TUNECHECK_SAMPLES", ""))
    yield from (base for base in (own() + (real(samples) if samples.name else [])) if len(base.texts) > 1)


def test_a_text_that_is_missing_makes_no_other_fault(tmp_path: Path) -> None:
    judged, other = 0, []
    for base in _bases():
        whole = _found(base, tmp_path) or {}
        for name in base.texts:
            left = _found(replace(base, texts={each: text for each, text in base.texts.items() if each != name}),
                          tmp_path)
            for key in whole.keys() & (left or {}).keys():
                judged += 1
                if left is not None and not whole[key] & left[key]:
                    other.append(f"{base.name} without {name}: {key}: {whole[key]} -> {left[key]}")
    assert judged > 100
    assert not other
