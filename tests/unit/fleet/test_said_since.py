"""What somebody says of a finding counts in the reports of all audits in which the same thing was so, and is named
there; what was over in between is another matter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.said.decisions import about as decisions_about
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.store import Store, open_store
from tunecheck_fleet.which_audit import newer_than

_CHECK = "module-parameter"
#: What is said, and of which fact or check: one that most have in common, one of each host, and two of a check.
_CASES = (("approve", "driver.loaded", "approved"), ("approve", "gpu.serials", "approved"),
          ("acknowledge", "driver.loaded", "acknowledged"), ("acknowledge", _CHECK, "acknowledged"))


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, about: str, odd: bool, name: str = "box0") -> int:
    """One of eight boxes has another value, or fails the check."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    names = [name, *(f"box{number}" for number in range(1, 8))]
    head = store.begin("inventory", [(each, "g") for each in names])
    for number, each in enumerate(names):
        other = odd and not number
        value = f"{'other' if other else 'usual'}{number * (about == 'gpu.serials')}"
        known = {} if about == _CHECK else {about: value}
        store.put(head.id, Seen(each, "g", "ok", key=f"key{number}", known=known, document=b"{}", problems=(
            Problem(_CHECK, "nvidia NVreg_X", "fail", "is 1", code="other"),) if other and about == _CHECK else ()))
    store.finish(head.id)
    return head.id


def _say(store: Store, what: Literal["approve", "acknowledge"]) -> None:
    seen = report(store)
    [cause] = [each for each in seen.causes if each.counts]
    decide(store, seen, what, [cause.id], author="ann", owner="bob", note="a trial")


def _told(store: Store, audit: int, name: str = "box0") -> list[Cause]:
    told, alone = ([each for each in report(store, audit, JudgeOptions(), about=about).causes
                    if name in each.hosts and each.state != "resolved"] for about in (None, name))
    assert [(each.id, kind(each)) for each in told] == [(each.id, kind(each)) for each in alone]
    return told


def _note(store: Store, audit: int) -> str:
    """What stands above an audit that is not the newest."""
    return newer_than(store, audit, decisions_about(store, audit))[0]


@pytest.mark.parametrize(("what", "about", "word"), _CASES)
def test_what_is_said_counts_in_every_earlier_audit_and_is_named(
        store: Store, what: Literal["approve", "acknowledge"], about: str, word: str) -> None:
    nights = [_night(store, about, odd) for odd in (False, True, True, True)]
    _say(store, what)
    for night in nights[1:]:
        # A change that is the baseline since an earlier audit is told no more.
        assert all(kind(each) == word for each in _told(store, night)), night
    assert _told(store, nights[1]) and not _told(store, nights[0])
    assert f"{what} 1 of" in _note(store, nights[1]) and f"{what} 1 of" not in _note(store, nights[0])
    store.end_decision(1)
    assert [each.counts and each.acknowledged is None for each in _told(store, nights[1])] == [True]


@pytest.mark.parametrize(("what", "about", "word"), _CASES)
def test_what_was_over_in_between_is_not_what_it_was_said_of(
        store: Store, what: Literal["approve", "acknowledge"], about: str, word: str) -> None:
    nights = [_night(store, about, odd) for odd in (False, True, False, True)]
    _say(store, what)
    assert [kind(each) for each in _told(store, nights[1])] == ["new"]
    assert f"{what} 1 of" not in _note(store, nights[1])
    assert [kind(each) for each in _told(store, nights[3])] == [word]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("what", "about", "word"), _CASES)
def test_of_a_host_that_was_renamed_since_too(
        store: Store, what: Literal["approve", "acknowledge"], about: str, word: str, late: bool) -> None:
    nights = [_night(store, about, odd) for odd in (False, True)]
    if not late:
        _say(store, what)
    nights += [_night(store, about, True, "new0"), _night(store, about, True, "new0")]
    if late:
        _say(store, what)
    assert [kind(each) for each in _told(store, nights[1])] == [word]
    assert all(kind(each) == word for each in _told(store, nights[3], "new0"))
