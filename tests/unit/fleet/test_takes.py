"""What it takes to put a changed value back, and what the fix of a finding takes, are told apart, in each form."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import get_args

import pytest
from tests.unit.fleet.reports import WHEN, cause, report
from tests.unit.report.all_reports import reports

from tunecheck.facts.registry import ENTRIES
from tunecheck.facts.registry.definition import Fix
from tunecheck.model.finding import Place
from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.style import Style
from tunecheck.rules.index import BY_ID
from tunecheck_fleet.entries import Entry
from tunecheck_fleet.outputs import entry_words
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal

TAKEN = [fix for fix in get_args(Fix) if fix != "none"]


@pytest.mark.parametrize("fix", TAKEN)
def test_a_changed_fact_is_put_back_and_a_finding_has_a_fix(fix: str) -> None:
    changed = cause(fix=fix, authority="previous", outcome="", code="", remedy="", commands=())
    found = replace(changed, authority="desired", outcome="fail", code="not-set", fact="cmdline-token", id="0000abcd")
    for one, said, other in ((changed, "to put it back: ", "its fix needs"), (found, "its fix needs ", "put it back")):
        forms = [terminal(report(causes=(one,)), Style(width), now=WHEN) for width in (0, 80)]
        for text in [*forms, html(report(causes=(one,)))]:
            assert said in " ".join(text.split()) and other not in text, text
        needs = entry_words.needs(Entry(one))
        assert asked_for([needs]) and "effect already" in page(needs)


#: What a fact is about that another boot finds as it is now: packages, what files say, what the next boot takes.
_STAYS = re.compile(r"version|release|word|parameter|configured|next|pending|staged|flavour|RegistryDwords|"
                    r"ECC|MIG|proprietary", re.I)


def test_a_reboot_alone_is_promised_only_of_what_is_of_this_boot() -> None:
    told = {entry.name: entry_words.needs(Entry(cause(fix=entry.fix, fact=entry.name, authority="previous", outcome="",
                                                      code=""))) for entry in ENTRIES if entry.fix == "reboot"}
    alone = {name for name, said in told.items() if said == "to put it back: a reboot"}
    assert alone == {entry.name for entry in ENTRIES if entry.of_boot} and len(alone) > 5
    assert {said for name, said in told.items() if name not in alone} == {
        "to put it back: undo it and reboot"}
    assert not [entry.name for entry in ENTRIES if entry.of_boot and _STAYS.search(f"{entry.name} {entry.summary}")]
    assert {"driver.loaded", "kernel.running", "kernel.cmdline."} <= told.keys() - alone


def test_nothing_is_said_where_it_takes_nothing() -> None:
    assert [entry_words.needs(Entry(cause(fix=fix))) for fix in ("", "none")] == ["", ""]


@pytest.mark.parametrize("words", ["reboot", "a reboot", "needs a reboot", "its fix needs a reboot", "Reload",
                                   "to put it back: a reboot", "needs a reload", "hands-on", "needs hands-on",
                                   "firmware", "needs firmware"])
def test_explain_knows_what_it_takes(words: str) -> None:
    for asked in ([words], words.split()):
        found = asked_for(asked)
        assert len(found) == 1, found
        assert "what a fix takes" in page(found[0])


def test_work_on_hardware_is_never_called_a_firmware_change() -> None:
    """The fleet's report says of a finding what its facts take; where its remedy begins with hands at the machine, that
    is no change of firmware."""
    wrong = {}
    for each in reports():
        for found in each.findings:
            if found.outcome not in ("fail", "warn") or not found.remedy or found.remedy.needs_reboot \
                    or found.remedy.place is not Place.MACHINE:
                continue
            facts = [entry for entry in ENTRIES if any(fnmatchcase(entry.name, judged.replace("{subject}", "*"))
                                                       for judged in BY_ID[found.id].judges)]
            takes = next((entry.fix for entry in facts if entry.fix != "none"), "")
            if takes == "firmware":
                wrong[found.id] = found.remedy.text
    assert wrong == {}
