"""A finding that a host differs from most of its like is open until the host has what they have, somebody approves or
waives it, they come to what it has, or no value leads among them any more. That hosts join which have the same value
mends nothing; and whichever way it ends, the report says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock
from tests.unit.fleet.test_begins_to_differ import _FACT, _audit, _night, _of, _told

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.exits import exit_code
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _open(found: FleetReport, name: str = "n0") -> list[Cause]:
    return [each for each in found.causes if name in each.hosts and each.counts]


def _shown(store: Store, found: FleetReport) -> str:
    return " ".join(terminal(found, Style(0), False, store.clock()).split())


#: Ways in which fewer have the other value, or fewer are left, and a half of them still has it.
_FEWER = {
    "another host joins that has the same": "g:baaaaab",
    "another host changes to the same": "g:bbaaaa",
    "hosts change to a third value": "g:bcaaaa",
    "hosts leave": "g:ba_a__",
    "others are silent, and one joins": "g:baa...b",
    "it is silent, and one joins": "g:.aaaaab",
    "another host is moved here": "g:baaaaa g:b h:bbbb",
    "it is silent, and the others move on": "g:.cccccc",
}


@pytest.mark.parametrize("how", _FEWER)
def test_it_stays_open_while_more_than_a_half_have_another_value(store: Store, how: str) -> None:
    other = " h:bbbbb" if "moved" in how else ""
    first = _of(_night(store, f"g:baaaaa{other}"), "n0")
    for _ in range(2):
        found = _night(store, _FEWER[how])
        still = _of(found, "n0")
        assert (still.id, still.state, still.since, still.authority) == (first.id, "known", first.since, "majority")
        assert exit_code(found, ("drift",), "100%") == 1
        if "silent" not in how:
            assert re.search(r"it differed from a majority when it was found; now [1-5] of [3-7] have a", still.text)
    assert _of(_night(store, "g:baaaaa" + other), "n0").text == ""


def test_it_began_before_and_stays_so_in_each_of_these(store: Store) -> None:
    _night(store, "g:bbbbbb")
    _night(store, "g:baaaaa")
    for groups in ("g:baaaaab", "g:ba_aaabb", "g:.aaaaab", "g:baaa..b"):
        still = _of(_night(store, groups), "n0")
        assert still.since is not None and (still.began, still.since.seen) == ("others", 2), groups


def _ended(store: Store, groups: str, *before: str) -> tuple[Cause, FleetReport]:
    first: Cause | None = None
    for each in before:
        first = _of(_night(store, each), "n0")
    assert first is not None
    found = _night(store, groups)
    assert not _open(found)
    assert not [each for each in _night(store, groups).causes if "n0" in each.hosts], "it is told once"
    return first, found


@pytest.mark.parametrize(("before", "after"), [
    (("g:baaaaa",), "g:aaaaaa"), (("g:baaaaa", "g:baaaaab"), "g:aaaaaab"),
    (("g:baaaaaaaaa", "g:baaaaaabbb"), "g:aaaaaaabbb")])
def test_mended(store: Store, before: tuple[str, ...], after: str) -> None:
    first, found = _ended(store, after, *before)
    (over,) = [each for each in found.causes if "n0" in each.hosts]
    assert (over.id, over.state, over.since) == (first.id, "resolved", first.since)


@pytest.mark.parametrize(("after", "said"), [
    ("g:bbbbbb", "the others came to it"), ("g:bbbbba", "the others came to it"),
    ("h:b g:aaaaa h:bbbbbb", "moved to h, where most have the same")])
def test_the_others_have_the_same_now(store: Store, after: str, said: str) -> None:
    other = " h:bbbbbb" if "h:" in after else ""
    first, found = _ended(store, after, f"g:baaaaa{other}")
    (over,) = [each for each in found.causes if "n0" in each.hosts and each.id == first.id]
    assert (over.state, over.since) == ("resolved", first.since) and said in over.text
    assert over.ended["n0"].seen == 2


@pytest.mark.parametrize("after", ["g:baaabb", "g:bbaacc", "g:b_____", "h:b g:aaaaa h:aaacccc"])
def test_no_value_leads_any_more(store: Store, after: str) -> None:
    """It ends without a verdict, and a note says so with the values that there are."""
    other = " h:aaacccc" if "h:" in after else ""
    _, found = _ended(store, after, f"g:baaaaa{other}")
    (note,) = [each for each in found.notes if "that ended without a verdict" in each]
    assert note.startswith("n0 ") and _FACT in note
    if after == "g:baaabb":
        assert "a on 3 / b on 3" in note
    assert note in report(store, found.audit.id, JudgeOptions(now=store.clock()), "n0").notes


def test_approved(store: Store) -> None:
    first = _of(_night(store, "g:baaaaa"), "n0")
    store.decide("approve", 1, first.id, "", [("n0", _FACT)], author="ann", note="so")
    for groups in ("g:baaaaa", "g:baaaaab", "g:bbbbba", "g:baaabb"):
        found = _night(store, groups)
        assert not _open(found) and not [each for each in found.notes if "without a verdict" in each], groups


def test_waived(store: Store) -> None:
    _night(store, "g:baaaaa")
    store.waive(_FACT, reason="so", author="ann", until=None, host="n0", kind="accept")
    for groups in ("g:baaaaa", "g:baaaaab"):
        found = _night(store, groups)
        assert not _open(found) and [each for each in found.causes if "n0" in each.hosts and each.waived]


def test_it_is_not_over_in_an_audit_of_a_part_of_the_group(store: Store) -> None:
    first = _of(_night(store, "g:baaaaa"), "n0")
    _night(store, "g:baaaaab")
    for part in ("g:b", "g:b_____b", "g:ba"):
        _audit(store, part, "inventory, limit rack")
        assert not [each for each in _told(store).causes if each.state == "resolved"], part
        found = report(store, None, JudgeOptions(now=store.clock(), union=True))
        assert [each.id for each in _open(found)] == [first.id], part
    assert _of(_night(store, "g:baaaaab"), "n0").since == first.since


def test_a_split_is_shown_of_each_of_its_hosts_and_nothing_is_clean_without_it(store: Store) -> None:
    for _ in range(2):
        found = _night(store, "g:bbaaaaa h:cccccc")
    assert _shown(store, found).endswith("CLEAN: no drift on the 13 hosts that answered; 1 split without a verdict")
    for name in ("n0", "n6", "n7"):
        own = focus(report(store, None, JudgeOptions(now=store.clock()), name), name, None)
        shown = _shown(store, own)
        assert ("SPLIT g: " in shown) == ("1 split without a verdict" in shown) == (name != "n7")
    assert answers_alike(store) == 13
