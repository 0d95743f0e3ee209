"""A host that differed from most of its like and cannot read that any more has mended nothing: it is told as it was
read last, with the reason why it cannot be read. What others did since is no finding of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.letters import FACT, WHY, night
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


@pytest.mark.parametrize("family", [FACT, "kernel."])
@pytest.mark.parametrize(("read", "unread"), [
    ("baaaa", "?aaaa"), ("baaaaaa", "?aaaaaa"), ("-aaaaaa", "?aaaaaa"), ("b------", "?------"),
    ("baaaaaa", "??aaaaa"), ("baaaaaa", "??? aaa"), ("baaaaaa", "???????"), ("baaaaaa", "?      ")])
def test_it_stays_under_its_id_until_it_can_be_read(store: Store, read: str, unread: str, family: str) -> None:
    (first,) = night(store, read).causes
    assert first.authority == "majority" and first.hosts == ("n0",)
    for _ in range(2):
        found = night(store, unread, family)
        (still,) = found.causes
        assert (still.id, still.hosts, still.state, still.drifts) == (first.id, ("n0",), "known", True)
        assert (still.before, still.value, still.expected) == (first.before, first.value, first.expected)
        assert WHY in still.text and "it was so when it last could" in still.text
        assert "CLEAN" not in terminal(found, Style(100), False, store.clock())
        answers_alike(store)
    (again,) = night(store, read).causes
    assert (again.id, again.state, again.text) == (first.id, "known", first.text)
    mended = read.replace(read[0], read[1], 1)
    assert not [each for each in night(store, mended).causes if each.counts]
    assert not [each for each in night(store, unread, family).causes if each.counts], "it was mended when it was read"


def test_it_stays_where_it_falls_silent_later(store: Store) -> None:
    (first,) = night(store, "baaaaaa").causes
    night(store, "?aaaaaa")
    (still,) = night(store, " aaaaaa").causes
    assert (still.id, still.silent) == (first.id, True)
    answers_alike(store)


def test_it_is_no_finding_of_it_that_the_others_moved_on(store: Store) -> None:
    night(store, "aaaaaaa")
    for _ in range(2):
        assert "n0" not in {host for each in night(store, "?bbbbbb").causes for host in each.hosts}
        answers_alike(store)
    assert "n0" in {host for each in night(store, "abbbbbb").causes for host in each.hosts}


def test_who_never_could_read_it_differs_from_nobody(store: Store) -> None:
    for _ in range(2):
        assert not night(store, "?aaaaaa").causes
        answers_alike(store)


def test_a_version_that_does_not_know_it_has_not_told_that_there_is_none(store: Store) -> None:
    night(store, "-------", version="0.0.9")
    assert not [each for each in night(store, "?aaaaaa").causes if "n0" in each.hosts]
    answers_alike(store)


def test_a_value_that_an_older_version_read_is_kept(store: Store) -> None:
    (first,) = night(store, "baaaaaa", version="0.0.9").causes
    (still,) = night(store, "?aaaaaa").causes
    assert still.id == first.id
    answers_alike(store)
