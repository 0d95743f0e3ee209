"""What somebody has approved is named in the report in which that was said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike

from tunecheck.report.style import Style
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.entries import entries
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.decision_words import not_approved
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


def test_what_a_check_asks_for_is_told_to_stay_open(tmp_path: Path) -> None:
    """Another kernel and the check that fails in it are one entry, of which only the kernel can be approved."""
    redirects = Problem("acs-redirect", "0000:02:00.0", "fail", "redirects peer traffic", code="redirects")
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for broken in (False, True):
            head = store.begin("folder", [("b1", "rack2")])
            store.put(head.id, Seen(
                "b1", "rack2", "ok", hardware="hw", tunecheck="0.1.0", document=b"{}", outcomes={"acs": "pass"},
                known={"kernel.running": "6.14.0" if broken else "6.12.1"}, problems=(redirects,) if broken else ()))
            store.finish(head.id)
        [entry] = entries(report(store).causes)
        said = not_approved(entry)
        left = next(each for each in entry.more if each.fact == "acs-redirect")
        assert entry.lead.fact == "kernel.running" and "acs-redirect" in said and left.id in said
        decide(store, report(store), "approve", [entry.lead.id], author="ann")
        assert [each.id for each in report(store).open if each.counts] == [left.id]
