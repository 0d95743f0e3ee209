"""What somebody has approved is named in the report in which that was said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike

from tunecheck.report.style import Style
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store


def _night(store: Store, version: str) -> None:
    names = [f"b{number}" for number in range(6)]
    head = store.begin("folder", [(name, "rack2") for name in names])
    for name in names:
        store.put(head.id, Seen(
            name, "rack2", "ok", known={"driver.loaded": version}, hardware="hw", tunecheck="0.1.0", document=b"{}"))
    store.finish(head.id)


@pytest.mark.parametrize("nights", [1, 3])
def test_a_change_that_is_approved_is_shown_as_that(tmp_path: Path, nights: int) -> None:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for version in ("595.1", *["600.1"] * nights):
            _night(store, version)
        [cause] = report(store).causes
        decide(store, report(store), "approve", [cause.id], author="ann", note="change 4711")
        found = report(store)
        assert [(each.id, each.counts, each.approved is not None) for each in found.causes] == [(cause.id, False, True)]
        for verbose in (False, True):
            assert re.search(r"APPROVED\b.*driver\.loaded", terminal(found, Style(0), verbose, now=found.audit.started))
        assert document(found)["entries"][0]["kind"] == "approved" and "driver.loaded" in html(found)
        answers_alike(store)
        _night(store, "600.1")
        assert report(store).causes == ()
        answers_alike(store)
