"""A check may find several things of one subject. Each comes, is acknowledged or waived, and goes by itself: what was
said of one is said of no other, and the history has the begin and the end of each. Over all pairs of codes of every
check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.fleet.same_answers import answers_alike

from tunecheck.cli.main import cli
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.rows import INSTEAD, decided_as
from tunecheck_fleet.model import Problem, Seen, fault_of
from tunecheck_fleet.store import Store, open_store


def _word(number: int) -> str:
    """No number: what differs in numbers alone is one thing."""
    return "".join(chr(ord("a") + number // 26 ** place % 26) for place in (1, 0))


#: Host -> (first, second) of each pair: one host for each check, one subject for each pair.
_PAIRS = {check.id: [(Problem(check.id, f"part {_word(number)}", "fail", "first", code=first, observed="it"),
                      Problem(check.id, f"part {_word(number)}", "fail", "second", code=second, observed="it"))
                     for number, (first, second) in enumerate(permutations(
                         (code for code in check.codes if code not in COMMON), 2))
                     if not {first, second} <= {*check.one_fault}] for check in CHECKS}


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


def _night(store: Store, told: dict[str, Sequence[Problem]]) -> int:
    head = store.begin("folder", [(name, "g") for name in told])
    for name, problems in told.items():
        store.put(head.id, Seen(name, "g", "ok", known={"gpu.count": 8}, tunecheck="0.1.0", document=b"{}",
                                problems=tuple(problems)))
    store.finish(head.id)
    return head.id


#: Check, subject, code.
_Thing = tuple[str, str, str]


def _causes(store: Store) -> dict[_Thing, Cause]:
    found = report(store, None, JudgeOptions()).causes
    causes = {(each.fact, each.subject, each.code): each for each in found}
    assert len(causes) == len(found)
    return causes


def _thing(problem: Problem) -> _Thing:
    return problem.check, problem.subject, problem.code


@pytest.mark.parametrize(("one", "other"), [("fail", "fail"), ("fail", "warn"), ("warn", "fail")])
def test_of_two_things_that_a_check_finds_each_comes_and_goes_by_itself(store: Store, one: Any, other: Any) -> None:
    pairs = {host: [(replace(first, outcome=one), replace(second, outcome=other)) for first, second in of]
             for host, of in _PAIRS.items() if of}
    assert sum(map(len, pairs.values())) > 1000
    firsts = {host: [first for first, _ in of] for host, of in pairs.items()}
    seconds = {host: [second for _, second in of] for host, of in pairs.items()}
    of_first = {_thing(each) for of in firsts.values() for each in of}
    of_second = {_thing(each) for of in seconds.values() for each in of}
    _night(store, dict.fromkeys(pairs, ()))

    _night(store, firsts)
    now = _causes(store)
    assert now.keys() == of_first and {each.state for each in now.values()} == {"new"}
    store.decide("acknowledge", 2, next(iter(now.values())).id, "all of them",
                 [(host, decided_as(each)) for each in now.values() for host in each.hosts], author="ann")

    _night(store, {host: [*firsts[host], *seconds[host]] for host in pairs})
    now = _causes(store)
    assert now.keys() == of_first | of_second
    assert {(each.state, bool(each.acknowledged), each.since and each.since.seen)
            for thing, each in now.items() if thing in of_first} == {("known", True, 2)}
    assert {(each.state, bool(each.acknowledged), each.since and each.since.seen)
            for thing, each in now.items() if thing in of_second} == {("new", False, 3)}
    ids = {thing: each.id for thing, each in now.items()}

    _night(store, seconds)
    now = _causes(store)
    assert {thing: each.id for thing, each in now.items()} == ids
    assert {now[thing].state for thing in of_first} == {"resolved"}
    assert {(now[thing].state, bool(now[thing].acknowledged), now[thing].since and now[thing].since.seen)
            for thing in of_second} == {("known", False, 3)}

    _night(store, dict.fromkeys(pairs, ()))
    now = _causes(store)
    assert now.keys() == of_second
    assert {(each.state, each.since and each.since.seen) for each in now.values()} == {("resolved", 3)}
    rows = store.problems_resolved(None, of="span")
    assert {(row.check, row.subject, row.code, row.outcome, row.since.seen, row.until) for row in rows} == {
        *((check, subject, fault_of(check, code), one, 2, 4) for check, subject, code in of_first),
        *((check, subject, fault_of(check, code), other, 3, 5) for check, subject, code in of_second)}
    assert not store.problems_since()


_FIRST = Problem("gpu-ecc", "GPU0 0000:01:00.0", "fail", "3 errors", "0", code="uncorrectable-errors", observed="3")
_SECOND = replace(_FIRST, code="unrepairable-memory", observed="unrepairable", text="cannot be repaired")
_LESS = replace(_FIRST, outcome="warn", code="earlier-uncorrectable-errors", text="3 errors over its life")
_UNREAD = replace(_FIRST, outcome="unknown", code="unread", observed="", text="not known")
_ELSEWHERE = replace(_UNREAD, subject="GPU1 0000:02:00.0")


def test_one_host_is_told_the_same_as_the_whole_report(store: Store) -> None:
    """Whoever has one of them, both, or another one than the night before."""
    steps = ((), (_FIRST,), (_SECOND,), (_FIRST, _SECOND), (_UNREAD,))
    for night in range(2 * len(steps)):
        _night(store, {f"h{number}": steps[(night * step + number) % len(steps)]
                       for number, step in enumerate((1, 1, 2, 3, 4))})
        assert answers_alike(store, JudgeOptions()) == 5
        if night == 4:
            found = report(store)
            decide(store, found, "acknowledge", [next(each.id for each in found.causes if each.counts)], author="ann")


def test_a_waiver_of_one_is_none_of_the_other(store: Store) -> None:
    _night(store, {"h": ()})
    _night(store, {"h": (_FIRST,)})
    store.waive(f"gpu-ecc/{_FIRST.code}", reason="known", author="ann", until=store.clock() + 1e6, host="h", group=None,
                value=None, kind="waive")
    _night(store, {"h": (_FIRST, _SECOND)})
    assert {each.code: (each.state, bool(each.waived)) for each in _causes(store).values()} == {
        _FIRST.code: ("known", True), _SECOND.code: ("new", False)}
    _night(store, {"h": (_FIRST,)})
    assert {each.code: (each.state, bool(each.waived)) for each in _causes(store).values()} == {
        _FIRST.code: ("known", True), _SECOND.code: ("resolved", False)}


def test_of_two_that_are_open_what_is_said_of_one_is_not_said_of_the_other(store: Store) -> None:
    _night(store, {"h": ()})
    _night(store, {"h": (_FIRST, _SECOND)})
    decide(store, report(store), "acknowledge", [each.id for each in _causes(store).values()
                                                 if each.code == _FIRST.code], author="ann")
    for told in ((_FIRST, _SECOND), (_UNREAD,), (_SECOND, _FIRST)):
        _night(store, {"h": told})
        assert {each.code: bool(each.acknowledged) for each in _causes(store).values()} == {
            _FIRST.code: True, _SECOND.code: False}
        assert answers_alike(store, JudgeOptions()) == 1


def test_what_cannot_be_told_ends_none_of_them(store: Store) -> None:
    """Each keeps its id and its since; what is told again, and the other is not, is the one that is left."""
    _night(store, {"h": ()})
    _night(store, {"h": (_FIRST,)})
    _night(store, {"h": (_FIRST, _SECOND)})
    ids = {each.code: (each.id, each.since and each.since.seen) for each in _causes(store).values()}
    for told in ((_UNREAD,), (_UNREAD, _FIRST), (_UNREAD, _SECOND), (_UNREAD,)):
        _night(store, {"h": told})
        now = {each.code: each for each in _causes(store).values() if each.code in ids}
        assert {code: (each.id, each.since and each.since.seen) for code, each in now.items()} == ids
        assert {each.state for each in now.values()} == {"known"}
        assert {code for code, each in now.items() if each.outcome == "unknown"} == ids.keys() - {
            each.code for each in told}
        assert answers_alike(store, JudgeOptions()) == 1
    _night(store, {"h": (_SECOND,)})
    assert {each.code: each.state for each in _causes(store).values()} == {
        _FIRST.code: "resolved", _SECOND.code: "known"}
    assert not [row for row in store.problems_since() if row.outcome == "unknown"]


def test_a_subject_of_which_another_thing_is_found_was_looked_at(store: Store) -> None:
    """Whatever the check cannot tell of other subjects."""
    _night(store, {"h": ()})
    _night(store, {"h": (_FIRST, _ELSEWHERE)})
    _night(store, {"h": (_LESS, _ELSEWHERE)})
    now = {each.code: each.state for each in _causes(store).values()}
    assert (now[_FIRST.code], now[_LESS.code]) == ("resolved", "new")
    assert [each.text for each in _causes(store).values() if each.state == "resolved"] == [INSTEAD]
    assert answers_alike(store, JudgeOptions()) == 1


def test_numbers_that_differ_every_night_are_one_thing(store: Store) -> None:
    _night(store, {"h": ()})
    for count in (3, 4, 7):
        _night(store, {"h": (replace(_FIRST, observed=str(count), text=f"{count} errors"),)})
    [cause] = _causes(store).values()
    assert (cause.state, cause.since and cause.since.seen) == ("known", 2)


def test_the_history_names_each_with_its_own_begin_and_end(tmp_path: Path) -> None:
    place = str(tmp_path / "fleet.db")
    worse, less = replace(_LESS, outcome="fail"), _LESS
    with open_store(place, catalogue=1) as store:
        for told in ((), (_FIRST,), (_FIRST, _SECOND), (less, _SECOND), (worse,), (less,)):
            _night(store, {"h": told})
    wanted = [(_FIRST.code, "fail", 2, 4), (_SECOND.code, "fail", 3, 5), (less.code, "warn", 4, 5),
              (less.code, "fail", 5, 6), (less.code, "warn", 6, None)]
    asked = ["history", "--host", "h", "--store", place]
    rows = json.loads(CliRunner().invoke(cli, [*asked, "--json", "-"], catch_exceptions=False).stdout)["rows"]
    assert [(row["code"], row["outcome"], row["since"]["seen"], row["gone"]) for row in rows] == wanted
    text = CliRunner().invoke(cli, asked, catch_exceptions=False).stdout
    for (code, outcome, begun, gone), line in zip(wanted, text.splitlines()[1:], strict=True):
        assert line.startswith(f"check gpu-ecc GPU0 0000:01:00.0 ({code}): {outcome}; since #{begun - 1}..#{begun} ")
        assert (f", until #{gone} " in line) if gone else line.endswith(", still so")
