"""Which check judges which fact: names on both sides exist, so that no table entry silently matches nothing."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tunecheck import rules
from tunecheck.facts.registry import ENTRIES, entry_of
from tunecheck.rules.check import Check, Family
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.fleet_report import Since
from tunecheck_fleet.judge.authority import HAPPENING, JUDGED, judged, judges_one
from tunecheck_fleet.judge.view_parts import began_of
from tunecheck_fleet.store.rows import OpenFinding


def test_every_check_and_every_fact_of_the_table_exists() -> None:
    assert not {*JUDGED, *HAPPENING} - {check.id for check in CHECKS}
    for check, patterns in JUDGED.items():
        for pattern in patterns:
            name = pattern.replace("{subject}", "x").replace("*", "x")
            assert entry_of(name) is not None, f"{check}: no fact is called {pattern}"
            kinds = {entry.kind for entry in ENTRIES if fnmatchcase(entry.name, pattern.replace("{subject}", ""))}
            assert kinds <= {"config"}, f"{check}: {pattern} is not kept as history"


def test_a_subject_names_its_fact_and_is_no_pattern() -> None:
    facts = ["kernel.cmdline.iommu", "kernel.cmdline.pci", "kernel.cmdline.*", "module.parameter.nvidia.NVreg_X"]
    assert [*judged("cmdline-token", "iommu=pt", facts)] == ["kernel.cmdline.iommu"]
    assert [*judged("cmdline-token", "*", facts)] == ["kernel.cmdline.*"]
    assert [*judged("module-parameter", "nvidia NVreg_X", facts)] == ["module.parameter.nvidia.NVreg_X"]
    assert [*judged("xid", "GPU0", facts)] == []


#: Helpers of a check that says "no event since boot", and what it asks for events, counters and error registers.
_READS_EVENTS = ("nothing_logged(", "error_counts", "since boot\",", "from_log.quoted(")


def _reads_events(check: Check) -> bool:
    text = Path(rules.__path__[0], *check.module.split(".")).with_suffix(".py").read_text()
    return check.family is Family.ERRORS or any(word in text for word in _READS_EVENTS)


@pytest.mark.parametrize("check", [each for each in CHECKS if _reads_events(each)], ids=lambda each: each.id)
def test_a_warning_of_a_log_a_counter_or_an_event_never_stands(check: Check) -> None:
    first = OpenFinding(check.id, "0000:07:00 12028", "", "warn", Since(2, 0.0), False)
    _, standing = began_of({"host": [first]})
    # What the family ERRORS has besides events: who handles errors, history, and how much of the log there is.
    assert bool(standing["host"]) == (check.id in ("aer-ownership", "earlier-boots", "kernel-log-complete"))


def test_a_warning_of_how_a_host_is_set_up_stands() -> None:
    _, standing = began_of({"host": [OpenFinding("cmdline-rejected", "pci=noacs", "", "warn", Since(2, 0.0), False)]})
    assert standing["host"] == {("cmdline-rejected", "pci=noacs", "")}


def test_what_a_subject_alone_is_about_is_of_its_check() -> None:
    of_subject = [check for check in CHECKS if check.judges_of]
    assert of_subject
    for check in of_subject:
        text = Path(rules.__path__[0], *check.module.split(".")).with_suffix(".py").read_text()
        for subject, fact in check.judges_of:
            assert fact in ("", *check.judges), f"{check.id}: {fact} is none of its facts"
            # Where it is declared, and where it is told; "reads" is made of "read".
            made_of = subject.removesuffix("s")
            assert text.count(f'"{subject}"') > 1 or f'"{made_of}"' in text, f"{check.id}: {subject}"
            assert [*judged(check.id, subject, check.judges)] == ([fact] if fact else [])
            assert judges_one(check.id, subject) == bool(fact)
        assert [*judged(check.id, "another", check.judges)] == [*check.judges]
