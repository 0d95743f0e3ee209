"""What an audit says that happened: only where something is known to have happened."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from tests.unit.fleet.reports import cause, since

from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.words.terms import term
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.entries import entries
from tunecheck_fleet.events.folds import FOLDS, SOURCES
from tunecheck_fleet.fleet_report import Cause, Wave

#: What only says that something was not read, of every check: no kernel log, no list of GPUs, no permission.
_UNREAD = [cause(fact=check.id, outcome="unknown", code="unread", subject="", hosts=("a",), value=None, before=None,
                 severity="low", id=check.id) for check in CHECKS]


def test_checks_without_evidence_say_of_nothing_that_it_happened() -> None:
    found = entries(_UNREAD)
    assert len(found) == len(CHECKS) and not [each for each in found if each.what or each.more]


@pytest.mark.parametrize(("code", "check"), [(code, each.check) for each in SOURCES for code in each.codes])
def test_checks_that_all_miss_one_thing_are_one_entry(code: str, check: str) -> None:
    """However many they are; on each host, and for each since when."""
    missing = [replace(each, code=code, hosts=("a", "b")) for each in _UNREAD]
    (found,) = entries(missing)
    assert found.lead.fact == check and found.what and len(found.more) == len(CHECKS) - 1
    (found,) = entries([each for each in missing if each.fact != check])
    assert len(found.more) == len(CHECKS) - 2
    known = replace(missing[0], outcome="fail")
    assert [each.lead for each in entries([known, *missing[1:3]])] == [known, missing[1]]


#: Checks that lead others, and not facts alone.
_LEADS = sorted({check.id for check in CHECKS for fold in FOLDS if not fold.when and check.id in fold.leads
                 and any(fnmatchcase(other.id, name) for name in fold.followers for other in CHECKS
                         if other is not check)})


@pytest.mark.parametrize("lead", _LEADS)
def test_a_check_that_found_something_leads_what_is_not_known_for_it(lead: str) -> None:
    bad = replace(next(each for each in _UNREAD if each.fact == lead), outcome="fail", code="x")
    found = entries([bad, *(each for each in _UNREAD if each.fact != lead)])
    (first,) = [each for each in found if each.what]
    assert first.lead is bad and all(each.outcome == "unknown" for each in first.more)


def _facts(**more: Any) -> list[Cause]:
    return [cause(fact=fact, authority="previous", outcome="", hosts=("a",), id=fact, **values, **more)
            for fact, values in (("gpu.count", {"before": 8, "value": 7}),
                                 ("gpu.name", {"before": {"H200": 8}, "value": {"H200": 7}}))]


def test_fewer_gpus_that_were_counted_are_lost_ones() -> None:
    (found,) = entries(_facts())
    assert found.what == "GPU lost"


def _warned(lead: str, follower: str, remedy: str, after: bool) -> list[tuple[str, list[str]]]:
    found = [cause(fact=fact, outcome="warn", code="x", subject=fact, hosts=("a",), id=fact, remedy=fix, standing=True,
                   since=since() if after else since(365, None))
             for fact, fix in ((lead, "mend the first"), (follower, remedy))]
    return [(each.lead.fact, [more.fact for more in each.more]) for each in entries(found)]


_IDS = [check.id for check in CHECKS]
_CHECKED = [(fold, lead, follower) for fold in FOLDS for lead in fold.leads for follower in _IDS
            if lead in _IDS and lead != follower and not fold.when and not fold.untold
            and any(fnmatchcase(follower, pattern) for pattern in fold.followers)
            and not any(fnmatchcase(follower, pattern) for pattern in fold.leads)]


@pytest.mark.parametrize(("fold", "lead", "follower"), _CHECKED, ids=lambda each: getattr(each, "what", each))
def test_a_warning_with_a_fix_of_its_own_did_not_come_with_another_before_the_host_was_seen(
        fold: Any, lead: str, follower: str) -> None:
    """Of every rule: it keeps its line and its fix there. With the same fix, or since a later audit, it follows."""
    one, own = [(lead, [follower])], {(lead, ()), (follower, ())}
    assert _warned(lead, follower, "another fix", after=True) == one
    assert _warned(lead, follower, "mend the first", after=False) == one
    found = _warned(lead, follower, "another fix", after=False)
    assert found == one if fold.always else {(fact, tuple(more)) for fact, more in found} == own


def test_on_hosts_of_both_kinds_it_is_an_entry_where_the_host_was_first_seen() -> None:
    found = [cause(fact=fact, outcome="warn", code="x", subject=fact, hosts=("a", "b"), id=fact, remedy=f"mend {fact}",
                   standing=True, since=since(), waves=(Wave(since(365, None), ("a",), "new"),
                                                        Wave(since(), ("b",), "new")))
             for fact in ("cpu-lost", "numa-balancing")]
    assert [(each.lead.fact, each.lead.hosts, [more.hosts for more in each.more]) for each in entries(found)] == [
        ("cpu-lost", ("a", "b"), [("b",)]), ("numa-balancing", ("a",), [])]


@pytest.mark.parametrize("name", sorted({*(fold.what for fold in FOLDS), *(each.what for each in SOURCES),
                                         "1 GPU fewer", "2 GPUs more", "1 GPU replaced", "1 GPU fewer, 1 replaced"}))
def test_explain_knows_what_happened(name: str) -> None:
    for words in (name, name.upper()):
        assert term(words) or words.lower() in _IDS
        assert asked_for(words.split()) == [words] and page(words)
