"""Where "A -> B" is told of a host, in whatever output, the history holds that this host had A, and then B. What it has
beside the others is told as "B (most others: A)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.unit.fleet.store.stores import Clock
from tests.unit.fleet.test_begins_to_differ import _FACT, _audit, _of

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.junit import junit
from tunecheck_fleet.outputs.prometheus import prometheus
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import change
from tunecheck_fleet.outputs.webhook import event, slack
from tunecheck_fleet.store import Store, open_store

_ARROW = re.compile(r"(?<![\w)])(\w|\(absent\)) -(?:>|&gt;) (\w|\(absent\))(?![\w(])")


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


#: Each night of a fleet. Other cases: test_begins_to_differ.py.
_FLEETS = {
    "another value than most, a night later": ["g:aaaaaa", "g:caaaaa", "g:cbbbbb", "g:cbbbbb"],
    "it changed and is no majority's": ["g:xaaaaa", "g:baaaaa", "g:baaaaa", "g:baaaaa"],
    "hosts come": ["g:bba", "g:bbaaaaaaaa", "g:bbaaaaaaaa"],
    "two groups, one of them came to it": ["g:aaaaaa h:baaaaa", "g:baaaaa h:baaaaa", "g:baaaaa h:baaaaa"],
    "moved to a group": ["g:bbbbbb h:aaaaaa", "h:b g:bbbbb h:aaaaaa", "h:a g:bbbbb h:aaaaaa"],
    "came from several": ["g:acaaaa h:aaaaaa", "g:bbaaaa h:aaaaaa", "g:bbaaaa h:aaaaaa"],
    "none before": ["g:-aaaaa", "g:baaaaa", "g:-aaaaa"],
    "first heard with it, then as the others": ["g:baaaaa", "g:baaaaa", "g:aaaaaa"],
    **{f"by chance, {seed}": [
        " ".join(f"{group}:" + "".join(random.choice("aaaaaaabc-.") for _ in range(6)) for group in order)
        for order in (random.choice(("gh", "gh", "hg")) for _ in range(6))]
       for seed in range(6) for random in [Random(seed)]},
}


def _outputs(found: FleetReport, now: float) -> Iterator[str]:
    for width in (0, 60, 80, 120):
        for verbose in (False, True):
            yield terminal(found, Style(width), verbose, now)
    yield html(found)
    yield junit(found)
    yield prometheus(found)
    yield from (str(each) for each in (event(found), slack(found)))


def _had(store: Store, host: str, audit: int) -> list[str]:
    spans = [span for span in store.history(host, _FACT, None) if span.since.seen <= audit]
    values = [str(span.value) if span.value is not None else "(absent)"
              for span in sorted(spans, key=lambda span: span.since.seen)]
    # What came later was absent before.
    return values if spans and spans[0].baseline else ["(absent)", *values]


def _comes_after(values: list[str], first: str, last: str) -> bool:
    return first in values and last in values[values.index(first) + 1:]


@pytest.mark.parametrize("name", _FLEETS)
def test_an_arrow_is_a_change_of_the_host_itself(store: Store, name: str) -> None:
    told = shown = 0
    for groups in _FLEETS[name]:
        number = _audit(store, groups)
        for options in (JudgeOptions(now=store.clock()), JudgeOptions(now=store.clock(), since=1)):
            if number == 1 and options.since:
                continue
            whole = report(store, None, options)
            for cause in whole.causes:
                if cause.fact != _FACT:
                    continue
                assert {host for each in cause.all_befores for host in each.hosts} == set(cause.hosts)
                for each in cause.all_befores:
                    for host in each.hosts if each.whose == "own" and each.value != cause.value else ():
                        had = _had(store, host, number)
                        pair = [str(value) if value is not None else "(absent)" for value in (each.value, cause.value)]
                        assert _comes_after(had, *pair), (host, had, pair, groups)
                        told += 1
                rows = [each for each in document(whole)["causes"] if each["id"] == cause.id]
                assert any([(each["value"], each["whose"], tuple(each["hosts"])) for each in row["befores"]]
                           == [(each.value, each.whose, each.hosts) for each in cause.befores] for row in rows)
            for host in {host for cause in whole.causes for host in cause.hosts}:
                had = _had(store, host, number)
                for text in _outputs(focus(report(store, None, options, host), host, None), store.clock()):
                    for pair in _ARROW.findall(text):
                        assert _comes_after(had, *pair), (host, had, pair, text)
                        shown += 1
    assert bool(told) == bool(shown)
    assert told or name in ("hosts come", "moved to a group", "first heard with it, then as the others"), "it is told"


def test_a_value_beside_others_keeps_its_own_change_while_it_is_known(store: Store) -> None:
    for groups, said in (("g:caaaaa", "c (most others: a)"), ("g:baaaaa", "c -> b"), ("g:baaaaa", "c -> b"),
                         ("g:baaaad", "c -> b")):
        _audit(store, groups)
        assert change(_of(report(store, None, JudgeOptions(now=store.clock())), "n0")) == said


def test_what_is_not_the_same_for_all_hosts_is_told_of_each(store: Store) -> None:
    for groups in ("g:acaaaaaaaa h:baaaaa", "g:bbaaaaaaaa h:baaaaa"):
        _audit(store, groups)
    found = report(store, None, JudgeOptions(now=store.clock()))
    (cause,) = [each for each in found.causes if each.counts]
    ways = "a -> b on n0; c -> b on n1; b (most others: a) on n10"
    assert change(cause) == ways
    assert [change(cause.on({host})) for host in ("n0", "n1", "n10")] == ["a -> b", "c -> b", "b (most others: a)"]
    assert all(ways in text for text in (terminal(found, Style(0), False, store.clock()), str(event(found))))
