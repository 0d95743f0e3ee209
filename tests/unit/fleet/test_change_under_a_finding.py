"""A fact changes while a check that judges it is open and goes on to say what it said: the change is told all the same.
What a report of one host shows as changed is an entry of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from tests.unit.fleet.rows import move, since, view
from tests.unit.fleet.same_answers import answers_alike, told_twice
from tests.unit.fleet.store.stores import Clock

from tunecheck.rules.index import CHECKS
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge, report
from tunecheck_fleet.judge.view import View
from tunecheck_fleet.judge.view_rows import Host, Meta, Resolved
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store
from tunecheck_fleet.whole_causes import each_cause

_JUDGING = [(check.id, pattern.replace("{subject}", "word").replace("*", "word"))
            for check in CHECKS for pattern in check.judges if not check.judges_of]
_Outcome = Literal["fail", "warn", "unknown"]


def _found(check: str, fact: str, outcome: _Outcome = "fail", began: int = 2, seen: int = 5,
           subject: str = "word") -> View:
    """Audit #5: the check has found it since ``began``, and the fact changed in ``seen``."""
    problem = Problem(check, subject, outcome, "as before", code="code", remedy="do it")
    changed = (move("h1", fact, "a", "b", seen),)
    return view({"h1": {}}, hosts=(Host("h1", "g", "hw", problems=(problem,), last_ok=5, last_ok_at=5.0),),
                began={"h1": {(check, subject, ""): since(began, began - 1)}}, moves=changed if seen == 5 else (),
                unapproved=changed if seen < 5 else (), meta={fact: Meta(severity="high", fix="reboot")})


def _of(found: FleetReport, fact: str) -> list[Cause]:
    return [cause for cause in found.causes if cause.fact == fact]


@pytest.mark.parametrize(("check", "fact"), _JUDGING, ids=str)
@pytest.mark.parametrize("outcome", ["fail", "warn", "unknown"])
@pytest.mark.parametrize("seen", [5, 4])
def test_a_change_that_no_finding_tells_is_told(check: str, fact: str, outcome: _Outcome, seen: int) -> None:
    for about in (None, "h1"):
        (cause,) = _of(judge(_found(check, fact, outcome, seen=seen), JudgeOptions(), about)[0], fact)
        # As bad as the fact says: an open finding, or one that cannot be told, makes no change less bad.
        assert (cause.authority, cause.severity, cause.before, cause.value) == ("previous", "high", "a", "b")
        assert cause.counts and cause.state == ("new" if seen == 5 else "known")
        now = "cannot be told now" if outcome == "unknown" else "is still"
        assert cause.text == f"{check} was open before this change, and {now}"


@pytest.mark.parametrize("standing", [False, True])
def test_a_change_is_as_bad_as_without_the_finding(standing: bool) -> None:
    for check, fact in _JUDGING:
        for severity in ("low", "medium", "high"):
            seen = replace(_found(check, fact, "warn"), meta={fact: Meta(severity=severity)},
                           standing={"h1": frozenset({(check, "word")})} if standing else {})
            (cause,) = _of(judge(seen, JudgeOptions())[0], fact)
            assert cause.severity == severity, (check, fact)


@pytest.mark.parametrize(("check", "fact"), _JUDGING, ids=str)
def test_of_several_changes_the_first_came_with_the_finding(check: str, fact: str) -> None:
    """Over several audits: 8 to 7 in #3, with which the check began to fail, and 7 to 6 in #5."""
    steps = (move("h1", fact, "a", "b", 3), move("h1", fact, "b", "c", 5))
    began = replace(_found(check, fact, began=3), moves=steps)
    assert not _of(judge(began, JudgeOptions())[0], fact)
    before = replace(_found(check, fact, began=2), moves=steps)
    (cause,) = _of(judge(before, JudgeOptions())[0], fact)
    assert (cause.before, cause.value, cause.text) == ("a", "c", f"{check} was open before this change, and is still")


@pytest.mark.parametrize(("check", "fact"), _JUDGING, ids=str)
def test_a_finding_that_came_or_went_with_the_change_tells_it(check: str, fact: str) -> None:
    assert not _of(judge(_found(check, fact, began=5), JudgeOptions())[0], fact)
    known = _found(check, fact)
    over = view({"h1": {}}, moves=known.moves, meta=known.meta,
                resolved=(Resolved("h1", "g", check, "word", "fail", since(5, 4)),))
    assert not _of(judge(over, JudgeOptions())[0], fact)
    # Of two findings that judge it one came with it.
    (host,) = known.hosts
    more = Problem(check, "word ", "fail", "new", code="new")
    both = replace(known, hosts=(host._replace(problems=(*host.problems, more)),))
    assert not _of(judge(both, JudgeOptions())[0], fact)


@pytest.mark.parametrize(("check", "fact"), _JUDGING, ids=str)
@pytest.mark.parametrize("outcome", ["fail", "warn", "unknown"])
@pytest.mark.parametrize("standing", [True, False])
@pytest.mark.parametrize("seen", [5, 4])
def test_what_differs_from_the_others_is_not_told_again_as_a_change(check: str, fact: str, outcome: _Outcome,
                                                                    standing: bool, seen: int) -> None:
    alone = _found(check, fact, outcome, seen=seen)
    changed = view({"h1": {fact: "b"}} | {f"h{number}": {fact: "a"} for number in range(2, 10)},
                   moves=alone.moves, unapproved=alone.unapproved, meta=alone.meta, began=alone.began,
                   standing={"h1": frozenset(alone.began["h1"])} if standing else {})
    changed = replace(changed, hosts=(*alone.hosts, *changed.hosts[1:]))
    for about in (None, "h1"):
        found = judge(changed, JudgeOptions(), about)[0]
        assert len([each for each in _of(found, fact) if "h1" in each.hosts]) == 1 and not told_twice(found)


@pytest.mark.parametrize(("check", "fact"), _JUDGING, ids=str)
def test_a_check_that_does_not_know_has_put_nothing_right(check: str, fact: str) -> None:
    for outcome, told in (("unknown", 1), ("warn", 0)):
        known = _found(check, fact, outcome, seen=4)     # type: ignore[arg-type]
        over = replace(known, mended=frozenset({("h1", check, "word", 4)}))
        assert len(_of(judge(over, JudgeOptions())[0], fact)) == told, outcome


# -- night by night, out of a history ---------------------------------------------------------------------------------

@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, **running: str) -> FleetReport:
    """An audit of hosts whose command lines have these words; each that is "off" takes the declared iommu=pt back."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    started = store.begin("inventory", [(host, "g") for host in running])
    for host, words in running.items():
        known = dict.fromkeys(("kernel.cmdline.amd_iommu", "kernel.cmdline.iommu"))
        known |= {f"kernel.cmdline.{word.partition('=')[0]}": word.partition("=")[2] for word in words.split()}
        problems = tuple(Problem("cmdline-conflict", "iommu=pt", "fail", f"{word} takes back iommu=pt",
                                 "iommu=pt alone", "remove it", ("cmdline",), True, code="overridden", observed=word)
                         for word in words.split() if word.endswith("off"))
        store.put(started.id, Seen(host, "g", "ok", key=f"key {host}", hardware="hw", problems=problems, known=known,
                                   document=b"{}", tunecheck="0.1.0", spec="s"))
    store.finish(started.id)
    return report(store, None, JudgeOptions(now=store.clock()))


@pytest.mark.parametrize("count", [3, 8])
def test_a_word_that_one_host_lost_beside_another_that_still_contradicts(store: Store, count: int) -> None:
    fleet = {f"n{number}": "amd_iommu=off iommu=off" for number in range(count)}
    _night(store, **fleet)
    for words, before, value, state in (
            ("amd_iommu=off", "off", None, "new"), ("amd_iommu=off", "off", None, "known"),
            ("amd_iommu=off iommu=soft", None, "soft", "new"), ("amd_iommu=off iommu=soft", "off", "soft", "known")):
        found = _night(store, **{**fleet, "n1": words})
        (cause,) = _of(found, "kernel.cmdline.iommu")
        # What only lost a word that took the declared one back is as the specification asks.
        assert (cause.hosts, cause.before, cause.value, cause.state, cause.severity) == (
            ("n1",), before, value, state, "high" if value else "low")
        _told_of_one_is_told_of_all(store, found)
    assert not [each for each in _of(_night(store, **fleet), "kernel.cmdline.iommu") if each.counts]


def _told_of_one_is_told_of_all(store: Store, found: FleetReport) -> None:
    options = JudgeOptions(now=store.clock())
    shown = {(host, (each.lead.before, each.lead.value)) for each in each_cause(found.causes)
             for host in each.lead.hosts}
    for row in found.hosts:
        for cause in report(store, None, options, row.host).causes:
            if (cause.before, cause.value) != (None, None):
                assert (row.host, (cause.before, cause.value)) in shown, (row.host, cause.fact)
    answers_alike(store)
