"""The beginning of a finding carries its outcome, as a terminal shows no more of it: what is unknown begins with what
is not known, a warning with what is bad. What can be told by machine has its floor here."""

from __future__ import annotations

import re

import pytest
from tests.unit.report.all_reports import reports

from tunecheck.model.finding import Finding

#: So many characters of a text stand in one line of 80 columns, behind the outcome and the id of most checks.
_SEEN = 60
#: Words that say that something is not known.
_OPEN = re.compile(r"\b(?:not|cannot|unknown|only|could|no|none|nothing|senseless|whether|which|cut|left out|"
                   r"before the number|fails?|reserved|too small)\b|^(?:how|what|who)\b")
#: Beginnings that say that all is well.
_WELL = re.compile(r"(?:all|every|each) [^;:,]*\b(?:is|are|has|have|reaches|runs?)\b(?! (?:not|PHB|NODE|SYS)\b)|"
                   r"no [^;:,]* (?:in what is here|hangs|is farther)|none of|now none|not slowed|the driver says OK|"
                   r"[^;:,]* is right")


def _told(outcome: str) -> list[Finding]:
    found = {(each.id, each.code, each.text): each for report in reports() for each in report.findings
             if each.outcome == outcome}
    assert len(found) > 100
    return list(found.values())


def test_what_is_unknown_begins_with_what_is_not_known() -> None:
    late = {f"{each.id} {each.code}: {each.text[:_SEEN]}" for each in _told("unknown")
            if not _OPEN.search(each.text[:_SEEN])}
    assert sorted(late) == []


@pytest.mark.parametrize("outcome", ["unknown", "warn"])
def test_nothing_that_is_open_or_bad_begins_as_if_it_were_well(outcome: str) -> None:
    well = {f"{each.id} {each.code}: {each.text[:_SEEN]}" for each in _told(outcome)
            if _WELL.match(each.text.removeprefix(f"{each.subject}: "))}
    assert sorted(well) == []
