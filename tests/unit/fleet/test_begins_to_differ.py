"""That a host differs from most of its like is news in the audit in which that began, by whatever it began: its own
change, a change of the others, its move to another group, or that only then so many others have one value. From there
on it is known, since that moment, under one id, and its words say which of these it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.store import Store, open_store

_FACT = "kernel.cmdline.mitigations"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _audit(store: Store, groups: str, scope: str = "inventory") -> int:
    """"g:baaaa h:aaaaa": a letter for each host of a group, called by its place in all of them, so that it can be
    moved; "-" has none, "." is silent, and "_" is no host."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    hosts, number = [], 0
    for part in groups.split():
        group, _, values = part.partition(":")
        for value in values:
            hosts.append((f"n{number}", group, value))
            number += 1
    hosts = [each for each in hosts if each[2] != "_"]
    started = store.begin(scope, [each[:2] for each in hosts])
    for name, group, value in hosts:
        if value == ".":
            store.put(started.id, Seen(name, group, "unreachable", "no route to host"))
            continue
        known = {} if value == "-" else {_FACT: value}
        store.put(started.id, Seen(name, group, "ok", key=f"key {name}", hardware="hw", document=b"{}",
                                   known={"sysctl.x": "1", **known}, tunecheck="0.1.0"))
    store.finish(started.id)
    return started.id


def _told(store: Store) -> FleetReport:
    return report(store, None, JudgeOptions(now=store.clock()))


def _night(store: Store, groups: str) -> FleetReport:
    _audit(store, groups)
    found = _told(store)
    answers_alike(store)
    assert document(_told(store)) == document(found), "a second look says the same"
    return found


def _of(found: FleetReport, name: str) -> Cause:
    """What counts of the host, as it is there."""
    (cause,) = [each for each in found.causes if name in each.hosts and each.counts]
    return cause.on({name})


#: How it begins -> the audits until then, the first in which n0 differs, and what its words say of that. A host that
#: is moved keeps its place: two hosts of another group stand before it.
_BEGINS = {
    "changed": (["g:aaaaaa", "g:aaaaaa"], "g:baaaaa", "", "a -> b"),
    "others": (["g:bbbbbb", "g:bbbbbb"], "g:baaaaa", "the others moved since #2, this did not", ""),
    "regrouped": (["g:bbbbbb h:aaaaaa", "g:bbbbbb h:aaaaaa"], "h:b g:bbbbb h:aaaaaa",
                  "moved to h in #3, where 6 of 7 have a", ""),
    "share": (["g:bbbbbb", "g:bbbaaa"], "g:bbaaaaaaaa",
              "#3 is the first audit in which so many others have one value", ""),
    "share by a host that leaves": (["g:bbaaaaa", "g:bbaaaaa"], "g:b_aaaaa",
                                    "#3 is the first audit in which so many others have one value", ""),
}


@pytest.mark.parametrize("how", _BEGINS)
def test_it_is_new_where_it_begins_and_known_from_there_on(store: Store, how: str) -> None:
    before, first, words, arrow = _BEGINS[how]
    for groups in before:
        assert "n0" not in {host for each in _night(store, groups).causes if each.authority == "majority"
                            for host in each.hosts}
    found = _night(store, first)
    new = _of(found, "n0")
    assert (new.authority, new.state, new.began) == ("majority", "new", how.split()[0])
    assert new.since is not None and (new.since.after, new.since.seen) == (2, 3)
    assert "n0" in new.new_hosts and words in new.text
    assert _FACT in str(event(found)), "a webhook is told"
    shown = terminal(focus(found, "n0", None), Style(0), False, store.clock())
    assert ("a -> b" in shown) == bool(arrow) and ("b (most others: a)" in shown) != bool(arrow)
    for _ in range(2):
        still = _of(_night(store, first), "n0")
        assert (still.id, still.state, still.began, still.since, still.text) == (
            new.id, "known", new.began, new.since, new.text)
        assert not still.new_hosts


def test_a_finding_that_the_host_had_in_its_old_group_stays_known(store: Store) -> None:
    _night(store, "g:baaaaa h:aaaaaa")
    first = _of(_night(store, "g:baaaaa h:aaaaaa"), "n0")
    moved = _of(_night(store, "h:b g:aaaaa h:aaaaaa"), "n0")
    assert (moved.id, moved.state, moved.since) == (first.id, "known", first.since)
    assert moved.group == "h" and "6 of 7 in h" in moved.expected


def test_it_is_so_of_hosts_that_exchange_their_groups(store: Store) -> None:
    _night(store, "g:aaaaaa h:bbbbbb")
    for state in ("new", "known"):
        found = _night(store, "h:a g:aaaaa g:b h:bbbbb")
        for name in ("n0", "n6"):
            cause = _of(found, name)
            assert (cause.state, cause.began) == (state, "regrouped")
            assert cause.since is not None and (cause.since.after, cause.since.seen) == (1, 2)


def test_a_history_that_did_not_keep_it_tells_a_host_that_is_moved_from_one_that_differed(store: Store) -> None:
    """As an older version of tunecheck left it: nobody put down who differs."""
    for _ in range(2):
        _audit(store, "g:bbbbbb h:baaaaaaaa")
    found = _night(store, "h:b g:bbbbb h:baaaaaaaa")
    (cause,) = [each for each in found.causes if each.counts]
    assert cause.hosts == ("n0", "n6") and cause.new_hosts == ("n0",)
    assert [(wave.hosts, wave.state) for wave in cause.all_waves] == [(("n6",), "known"), (("n0",), "new")]


def test_a_change_that_nobody_approved_is_one_finding_in_whatever_group(store: Store) -> None:
    _night(store, "g:aabbcc h:aaaaaa")
    first = _of(_night(store, "g:xabbcc h:aaaaaa"), "n0")
    assert (first.authority, first.state) == ("previous", "new")
    moved = _of(_night(store, "h:x g:abbcc h:aaaaaa"), "n0")
    assert (moved.authority, moved.id, moved.state, moved.since) == ("majority", first.id, "known", first.since)
