"""The present state of a fleet has every host of its inventory as it was last heard, whichever audit heard it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.scope import fleet_of, named, without_limit
from tunecheck_fleet.store.store import Store

_PLACES = ("/inv/prod", "host list a,b,c,d")
_PARTS = {"": "abcd", "one": "ab", "two": "cd"}
_LOST = Problem("gpu-fallen-off", "GPU0", "fail", "GPU0 fell off the bus", code="fell-off")


class _History:
    """Audits in which every host tells one fault of its own."""

    def __init__(self, path: Path) -> None:
        self.clock = 1_800_000_000.0
        self.store = Store(str(path), clock=lambda: self.clock)

    def audit(self, scope: str, hosts: str, finished: bool = True) -> int:
        self.clock += 3600
        head = self.store.begin(scope, [(host, "g") for host in hosts])
        for host in hosts:
            self.store.put(head.id, Seen(host, "g", "ok", key=host, hardware="hw", tunecheck="0.1.0",
                                         problems=(_LOST,)))
        if finished:
            self.store.finish(head.id)
        else:
            self.store.close()
            self.store = Store(str(self.store.where), clock=lambda: self.clock)
        return head.id

    def now(self, since: float | None = None) -> dict[str, int | None]:
        found = report(self.store, None, JudgeOptions(union=True, since=since))
        assert {host for cause in found.drift for host in cause.hosts} == {row.host for row in found.hosts}
        return {row.host: row.last_ok for row in found.hosts}


@pytest.fixture(name="history")
def _history(tmp_path: Path) -> Iterator[_History]:
    made = _History(tmp_path / "fleet.db")
    yield made
    made.store.close()


@pytest.mark.parametrize("files", ["", "/carried"])
@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("order", list(product(_PARTS, repeat=3)))
def test_every_host_stands_as_it_was_last_heard(history: _History, place: str, files: str,
                                                order: tuple[str, ...]) -> None:
    heard: dict[str, int | None] = {}
    for limit in order:
        number = history.audit(named(place, limit, files), _PARTS[limit])
        heard.update(dict.fromkeys(_PARTS[limit], number))
        assert history.now() == heard, "the fleet"
        assert history.now(since=0.0) == heard, "what changed since a day"


def test_files_of_another_folder_are_of_the_same_inventory(history: _History) -> None:
    history.audit(named("/inv/prod", files="/night/1"), "abcd")
    last = history.audit(named("/inv/prod", "one", "/night/2"), "ab")
    assert history.now() == {"a": last, "b": last, "c": 1, "d": 1}


def test_an_audit_that_was_cut_off_has_heard_its_hosts_all_the_same(history: _History) -> None:
    history.audit("/inv/prod", "abcd")
    cut = history.audit(named("/inv/prod", "one"), "ab", finished=False)
    last = history.audit(named("/inv/prod", "two"), "cd")
    assert history.now() == {"a": cut, "b": cut, "c": last, "d": last}


def test_an_audit_of_all_says_who_is_in_the_inventory(history: _History) -> None:
    history.audit(named("/inv/prod", "one"), "ab")
    history.audit("/inv/prod", "acd")
    last = history.audit(named("/inv/prod", "two"), "cd")
    assert history.now() == {"a": 2, "c": last, "d": last}, "b was taken out of it"


def test_a_host_that_moves_to_another_part_is_not_lost_meanwhile(history: _History) -> None:
    history.audit("/inv/prod", "abcd")
    history.audit(named("/inv/prod", "one"), "ab")
    last = history.audit(named("/inv/prod", "one"), "a")
    assert history.now() == {"a": last, "b": 2, "c": 1, "d": 1}


@pytest.mark.parametrize(("scopes", "before"), [
    ([("/inv/prod", "ab"), ("/inv/box1", "x"), (named("/inv/prod", "one"), "a")], 1),
    ([("/inv/prod", "ab"), ("/inv/box1", "x")], None),
    ([("/inv/prod", "ab"), ("/inv/box1", "xa")], 1),
    ([("/inv/prod", "ab"), ("/inv/box1", "x"), ("/inv/prod", "cd")], 1),
])
def test_an_audit_is_compared_with_one_of_another_scope_only_where_they_share_a_host(
        history: _History, scopes: list[tuple[str, str]], before: int | None) -> None:
    number = 0
    for scope, hosts in scopes:
        number = history.audit(scope, hosts)
    head = history.store.previous(number)
    assert (head.id if head is not None else None) == before


@pytest.mark.parametrize(("scope", "same", "fleet"), [
    ("/inv/prod, limit a, files of /c", "/inv/prod, files of /c", "/inv/prod"),
    ("/inv/prod, limit a, b", "/inv/prod", "/inv/prod"),
    ("files of /c", "files of /c", "files of /c"),
])
def test_a_scope_without_its_limit(scope: str, same: str, fleet: str) -> None:
    assert (without_limit(scope), fleet_of(scope)) == (same, fleet)
