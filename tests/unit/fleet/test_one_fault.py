"""One fault is told with its cause or without it, as long as the log that holds the cause is there. It is one thing all
the same: since when it is so, its id, whether it stands, and what was said of it stay. Over all that checks declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.unit.fleet.same_answers import answers_alike

from tunecheck.model.finding import Place
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen, fault_of
from tunecheck_fleet.store import Store, open_store

#: Told first, told next.
_PAIRS = [(check.id, *pair) for check in CHECKS for pair in permutations(check.one_fault, 2)]


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


def _night(store: Store, **told: tuple[Problem, ...]) -> None:
    head = store.begin("folder", [(name, "g") for name in told])
    for name, problems in told.items():
        store.put(head.id, Seen(name, "g", "ok", known={"gpu.count": 8}, tunecheck="0.1.0", document=b"{}",
                                problems=problems))
    store.finish(head.id)


def _found(check: str, code: str, outcome: str = "warn") -> tuple[Problem, ...]:
    return (Problem(check, "the subject", outcome, f"told as {code}", code=code, observed="it",     # type: ignore[arg-type]
                    remedy=f"what mends {code}"),)


def _cause(store: Store, host: str = "h") -> Cause:
    [cause] = [each for each in report(store, None, JudgeOptions()).causes if host in each.hosts]
    return cause


def test_a_check_declares_it() -> None:
    assert len(_PAIRS) >= 12
    assert {fault_of(check, first) == fault_of(check, second) for check, first, second in _PAIRS} == {True}


@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_a_warning_that_stands_still_does_with_another_cause(store: Store, check: str, first: str, second: str) -> None:
    _night(store, h=_found(check, first))
    before = _cause(store)
    assert before.standing
    for code in (second, first, second):
        _night(store, h=_found(check, code))
        now = _cause(store)
        assert (now.standing, now.state, now.severity, now.id, now.since) == (
            True, "known", before.severity, before.id, before.since)
        assert (now.code, now.text) == (code, f"told as {code}")
        assert answers_alike(store, JudgeOptions()) == 1
    _night(store, h=())
    over = _cause(store)
    assert (over.state, over.id, over.since) == ("resolved", before.id, before.since)


@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_what_was_said_of_it_stays_said(store: Store, check: str, first: str, second: str) -> None:
    _night(store, h=(), w=())
    _night(store, h=_found(check, first), w=_found(check, first))
    store.waive(f"{check}/{fault_of(check, first)}", reason="known", author="ann", until=store.clock() + 1e6, host="w",
                group=None, value=None, kind="waive")
    decide(store, report(store), "acknowledge", [_cause(store).id], author="ann")
    unread = (Problem(check, "the subject", "unknown", "not known", code="unread"),)
    for told in (_found(check, second), unread, _found(check, second), _found(check, first)):
        _night(store, h=told, w=told)
        now, waived = _cause(store), _cause(store, "w")
        assert (now.state, bool(now.acknowledged), now.since and now.since.seen) == ("known", True, 2)
        assert (waived.state, bool(waived.waived)) == ("known", True)
        assert answers_alike(store, JudgeOptions()) == 2


@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_hosts_that_tell_it_each_in_its_way_have_one_entry_and_their_own_fix(store: Store, check: str, first: str,
                                                                           second: str) -> None:
    _night(store, a=(), b=())
    _night(store, a=_found(check, first), b=_found(check, second))
    cause = _cause(store, "a")
    assert cause.hosts == ("a", "b")
    assert {(each.hosts, each.steps[0].remedy) for each in cause.fixes} == {
        (("a",), f"what mends {first}"), (("b",), f"what mends {second}")}


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_they_have_one_entry_whatever_each_of_them_observes(store: Store, check: str, first: str, second: str,
                                                            others: int) -> None:
    """Many hosts that observe a number each are one cause, with those that tell it in the other way; and it stays that
    one when these tell it in the same way."""
    names = [f"h{number:02}" for number in range(12)]
    _night(store, **dict.fromkeys(names, ()))
    ids = set()
    for number, code in enumerate((second, first, second)):
        told = {name: (replace(_found(check, code if place < others else first)[0], observed=f"0-{100 + place}"),)
                for place, name in enumerate(names)}
        _night(store, **told)
        cause = _cause(store, names[0])
        assert len(cause.hosts) == len(names)
        assert cause.code == (first if code == first else fault_of(check, first)), "none of the two is so of all"
        ids.add(cause.id)
        if not number:
            assert answers_alike(store, JudgeOptions(), names=names[others - 1:others + 1]) == 2
    assert len(ids) == 1


@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
@pytest.mark.parametrize("pattern", [False, True])
def test_a_waiver_of_one_of_its_codes_is_of_all_of_them(store: Store, check: str, first: str, second: str,
                                                        pattern: bool) -> None:
    _night(store, h=())
    store.waive(f"{check}/{first[:-1]}?" if pattern else f"{check}/{first}", reason="known", author="ann",
                until=store.clock() + 1e6, host="h", group=None, value=None, kind="waive")
    for code in (first, second, first):
        _night(store, h=_found(check, code))
        assert _cause(store).waived and not report(store).notes
    assert answers_alike(store, JudgeOptions()) == 1


@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_what_was_kept_before_with_its_cause_goes_on(store: Store, check: str, first: str, second: str) -> None:
    _night(store, h=())
    _night(store, h=_found(check, first))
    with store.db.write() as connection:
        connection.execute(text("UPDATE finding SET code = :code"), {"code": first})
    store.interned.forget()
    _night(store, h=_found(check, second))
    now = _cause(store)
    assert (now.state, now.since and now.since.seen) == ("known", 2)
    _night(store, h=())
    over = _cause(store)
    assert (over.state, over.since and over.since.seen) == ("resolved", 2)


@pytest.mark.parametrize("hosts", ["ab", "ba"])
@pytest.mark.parametrize(("easy", "hard", "takes"), [
    ({}, {"needs_reboot": True}, "reboot"), ({"tags": ("cpu",)}, {"needs_reboot": True}, "reboot"),
    ({"needs_reboot": True}, {"place": Place.FIRMWARE.value}, "firmware"),
    ({"place": Place.FIRMWARE.value}, {"place": Place.MACHINE.value}, "hands-on")])
def test_an_entry_says_what_the_hardest_of_its_fixes_takes(store: Store, hosts: str, easy: dict[str, Any],
                                                           hard: dict[str, Any], takes: str) -> None:
    """Whichever host comes first."""
    check, first, second = _PAIRS[0]
    _night(store, a=(), b=())
    told = zip(hosts, ((first, easy), (second, hard)), strict=True)
    _night(store, **{host: (replace(_found(check, code)[0], **fix),) for host, (code, fix) in told})
    cause = _cause(store, "a")
    assert (cause.hosts, cause.fix) == (("a", "b"), takes)
    assert answers_alike(store, JudgeOptions()) == 2


@pytest.mark.parametrize("told", [0, 1, None])
@pytest.mark.parametrize(("check", "first", "second"), _PAIRS)
def test_what_was_kept_before_as_two_is_over_as_one(store: Store, check: str, first: str, second: str,
                                                    told: int | None) -> None:
    """``told``: with which of the two codes it is told once more; None: not at all."""
    _night(store, h=())
    _night(store, h=_found(check, first))
    with store.db.write() as connection:
        connection.execute(text("UPDATE finding SET code = :code"), {"code": first})
        connection.execute(text('INSERT INTO finding (id, "check", subject, code) SELECT 99, "check", subject, :code '
                                "FROM finding"), {"code": second})
        connection.execute(text(
            "INSERT INTO finding_span (host_id, finding_id, from_audit, until_audit, outcome, after_audit) "
            "SELECT host_id, 99, from_audit, until_audit, outcome, after_audit FROM finding_span"))
    store.interned.forget()
    if told is not None:
        _night(store, h=_found(check, (first, second)[told]))
        assert _cause(store).state == "known"
        assert answers_alike(store, JudgeOptions()) == 1
    _night(store, h=())
    assert _cause(store).state == "resolved"
    assert answers_alike(store, JudgeOptions()) == 1
    _night(store, h=())
    assert not report(store).causes
