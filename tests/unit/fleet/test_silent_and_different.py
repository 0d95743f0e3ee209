"""A host that differed from most of its like and says nothing any more has mended nothing: it is told as it was last
heard, and what is to be done as that, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.letters import night
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.junit import junit
from tunecheck_fleet.outputs.next_step import next_step
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store

_STILL, _BACK = "if it is still so when it answers", "to put it back"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


@pytest.mark.parametrize(("seen", "silent"), [
    ("baaaa", " aaaa"), ("baaaaaa", " aaaaaa"), ("-aaaaaa", " aaaaaa"), ("b------", " ------"),
    ("baaaaaa", "  aaaaa"), ("baaaaaa", " aaa   ")])
def test_it_stays_under_its_id_until_the_host_answers(store: Store, seen: str, silent: str) -> None:
    (first,) = night(store, seen).causes
    assert first.authority == "majority" and first.hosts == ("n0",) and not first.silent
    for _ in range(2):
        found = night(store, silent)
        (still,) = found.causes
        assert (still.id, still.hosts, still.state, still.silent) == (first.id, ("n0",), "known", True)
        assert (still.before, still.value, still.expected) == (first.before, first.value, first.expected)
        assert still.last_heard[0].audit == 1 and found.drift
        answers_alike(store)
        for text in (*(terminal(found, Style(width), verbose, store.clock())
                       for width in (0, 100) for verbose in (False, True)), html(found), junit(found)):
            flat = " ".join(text.split())
            assert "(last heard in #1" in flat
            assert flat.count(_BACK) == flat.count(f"{_STILL}, {_BACK}")
    mended = seen.replace(seen[0], seen[1], 1)
    assert not [each for each in night(store, mended).causes if each.counts]


def test_it_is_no_finding_of_a_silent_host_that_the_others_moved_on(store: Store) -> None:
    night(store, "aaaaaaa")
    for _ in range(2):
        assert "n0" not in {host for each in night(store, " bbbbbb").causes for host in each.hosts}


def test_a_silent_host_is_not_the_next_step_before_one_that_was_seen(store: Store) -> None:
    night(store, "baaaaaaaaaaa")
    found = night(store, " caaaaaaaaaa")
    assert {host for each in found.causes for host in each.hosts} == {"n0", "n1"}
    reach, _, then = next_step(entries(found.causes), found, False)[0].partition("; then: ")
    assert reach.startswith("first n0 (unreachable)") and "n1" in then and "n0" not in then
