"""A check that judged nothing on a host found nothing there: no report about that check calls the host clean, and none
says that what it found before is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import driver

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.report.style import Style
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.index import BY_ID
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, exit_code, outcome, report
from tunecheck_fleet.judge.authority import HAPPENING, JUDGED, judged
from tunecheck_fleet.judge.said.waivers import judged_by
from tunecheck_fleet.model import Answer, Problem, Seen
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import Store, open_store

_SPEC = big_spec()


@cache
def _told(specified: bool) -> tuple[Seen, frozenset[str]]:
    """A host as it is read, and the checks that judged it."""
    stored = Stored(gather(driver(eight_gpus(0x0011)).host(), _SPEC.spec if specified else None, True),
                    _SPEC if specified else None)
    judged = frozenset(each.id for each in judge(Case(stored.snapshot, stored.frozen), "preflight")
                       if each.outcome in ("pass", "fail", "warn"))
    return seen(Answer("gpu1", "g", "ok", packed(stored))), judged


def _by_inventory() -> Seen:
    """A host without a specification of its own."""
    stored = Stored(gather(driver(eight_gpus(0x0011)).host(), _SPEC.spec, True), None)
    return seen(Answer("gpu1", "g", "ok", packed(stored)), _SPEC)


def _night(store: Store, told: Seen) -> None:
    head = store.begin("folder", [(told.host, told.group)])
    store.put(head.id, told)
    store.finish(head.id)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


@pytest.mark.parametrize("nights", [(True,), (False,), (True, False), (False, True)])
def test_no_host_is_clean_of_a_check_that_did_not_judge_it(store: Store, nights: tuple[bool, ...]) -> None:
    for specified in nights:
        _night(store, _told(specified)[0])
    judged, whole, other = _told(nights[-1])[1], report(store), 0
    alone = report(store, None, JudgeOptions(), "gpu1")
    for check in BY_ID:
        for found in (focus(whole, None, check), focus(alone, "gpu1", check)):
            words = {kind(cause) for cause in found.causes}
            last = terminal(found, Style(0)).splitlines()[-1]
            if check in judged:
                continue
            other += 1
            assert outcome(found) != "clean" and not last.startswith("CLEAN"), check
            assert "resolved" not in words and exit_code(found, ["unknown"]) == 1, check
            assert found.causes and all(cause.text and "gpu1" in cause.hosts for cause in found.causes), check
    assert other > 40


def test_what_found_something_before_is_not_resolved_by_leaving_the_specification_out(store: Store) -> None:
    """Its facts are what they were: nobody asks any more, and nothing was repaired."""
    fails = {check: Problem(check, "s", "fail", "differs", "8", code="differs") for check in BY_ID}
    plain = _told(False)[0]
    for specified in (True, False):
        _night(store, replace(plain, spec="spec" if specified else None, untold=(), dark={},
                              problems=tuple(fails.values()) if specified else (),
                              skipped={} if specified else plain.skipped))
    whole = report(store)
    gone = {cause.fact for cause in whole.causes if cause.state == "resolved"}
    there = [fact for fact, value in plain.known.items() if value is not None]
    facts = {check for check in JUDGED if [*judged(check, "s", there)]} - HAPPENING
    assert len(facts) > 20
    # A skip that is what good looks like is told by the host, whatever a specification asks for.
    good = {check for check, code in plain.skipped.items() if code in BY_ID[check].good_skips}
    assert gone & {*facts, *plain.skipped} == good
    assert any(note.startswith("accelerator-count is not asked any more on 1 host") for note in whole.notes)
    for check in (*facts, *plain.skipped):
        assert outcome(focus(whole, None, check)) == "unknown", check


def test_a_check_that_asks_less_without_a_specification_says_so(store: Store) -> None:
    _night(store, _told(False)[0])
    last = terminal(focus(report(store), None, "accelerator-count"), Style(0)).splitlines()[-1]
    assert last.startswith("CLEAN") and "1 judged without a specification" in last


def test_no_fact_is_clean_whose_check_has_found_something_of_it(store: Store) -> None:
    """It is told as what the check says, under the check's name. Asked by its own name, or its family's, it is that."""
    specified = _told(True)[0]
    _night(store, replace(specified, untold=(), dark={}, problems=tuple(
        Problem(check, "GPU0 0000:03:00.0", "fail", "differs", "8", code="differs") for check in BY_ID)))
    whole, seen_facts = report(store), 0
    for cause in whole.causes:
        if cause.state == "resolved" or not cause.counts:
            continue
        for fact in judged(cause.fact, cause.subject, specified.known):
            seen_facts += 1
            for asked in (fact, fact.partition(".")[0] + "." if "." in fact else fact):
                found = focus(whole, None, asked)
                assert cause in found.causes and outcome(found) != "clean", (cause.fact, asked)
    assert seen_facts > 40


def test_a_host_is_judged_with_the_specification_of_the_inventory(store: Store) -> None:
    told = _by_inventory()
    assert told.spec == _SPEC.digest
    _night(store, told)
    assert all(row.specified for row in report(store).hosts)
    for check in BY_ID:
        for cause in focus(report(store), None, check).causes:
            assert "without a specification" not in cause.text, check


@pytest.mark.parametrize(("fact", "said"), [
    ("pcie.width", "link-width judges pcie.width, so name the check"), ("kernel.clocksource", ""), ("link-width", "")])
def test_a_waiver_names_the_check_that_judges_its_fact_with_others(fact: str, said: str) -> None:
    """Where a check judges one fact alone either name will do, and a check's own name is right."""
    assert judged_by(fact) == said


def test_a_box_that_was_mended_first_is_not_compared_with_those_that_are_not(store: Store) -> None:
    """The inventory's specification asks for it, so the majority has no say, whatever the boxes have of their own."""
    told = _by_inventory()
    wrong = Problem("cmdline-conflict", "iommu=pt", "fail", "amd_iommu=off takes it back", "pt", code="overridden")

    def box(number: int, mended: bool) -> Seen:
        words = {"kernel.cmdline.iommu": "pt" if mended else "off"}
        return replace(told, host=f"gpu{number}", key=f"k{number}", known={**told.known, **words},
                       problems=() if mended else (wrong,), untold=(), dark={}, unknown={})

    for mended in ((), (5,), (5,), (5,)):
        boxes = [box(number, number in mended) for number in range(1, 6)]
        head = store.begin("folder", [(each.host, "g") for each in boxes])
        for each in boxes:
            store.put(head.id, each)
        store.finish(head.id)
        found = [cause for cause in report(store).causes if cause.counts and cause.fact.startswith("kernel.cmdline")]
        assert not [cause for cause in found if "gpu5" in cause.hosts], mended
