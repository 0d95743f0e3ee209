"""What has to be mended first leads its entry and the next step, in whatever order and from whichever audit it came."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.unit.fleet.reports import cause, play, report, row, since

from tunecheck.report.style import Style
from tunecheck.rules.index import BY_ID, CHECKS
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import Cause, Wave
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.next_step import next_step
from tunecheck_fleet.outputs.terminal import terminal

NOW = since().seen_at + 7200
_PAIRS = [(check.id, other) for check in CHECKS for other in check.before]


def _first(name: str, **more: Any) -> Cause:
    return cause(fact=name, id="f1f1f1f1", subject="a word", before=None, value=None, expected="desired x",
                 text="it stands in the way",
                 **{"hosts": ("gpu001",), "remedy": "take the word away", "outcome": "fail", **more})


def _blocked(name: str, number: int, hosts: tuple[str, ...], **more: Any) -> Cause:
    return cause(fact=name, id=f"0000000{number}", subject=f"word {number}", outcome="fail", before=None, value=None,
                 expected="desired x", text=f"word {number} is not there", hosts=hosts,
                 **{**play("cmdline", ",".join(hosts)), **more})


def test_what_comes_before_another_is_a_check_and_never_in_a_circle() -> None:
    assert _PAIRS
    for check, other in _PAIRS:
        assert other in BY_ID and check not in BY_ID[other].before


@pytest.mark.parametrize(("check", "other"), _PAIRS)
@pytest.mark.parametrize("after", [None, 364])
def test_it_leads_its_entry_in_every_order_and_form(check: str, other: str, after: int | None) -> None:
    when = since(365, after)
    found = (_first(check, since=when), _blocked(other, 1, ("gpu001", "gpu002"), since=when),
             _blocked(other, 2, ("gpu001",), since=when))
    for order in itertools.permutations(found):
        (lead,) = [each for each in entries(order) if "gpu001" in each.lead.hosts]
        assert lead.lead.fact == check and {each.fact for each in lead.more} == {other}
        made = report(causes=order)
        step = next_step(entries(order), made, False)[0]
        assert step == f"f1f1f1f1 ({check}): on gpu001: take the word away" or step.endswith("-l gpu002")
        alone = [each.on({"gpu001"}) for each in order]
        made = report(causes=alone, hosts=(row("gpu001"),))
        (only,) = entries(alone)
        pipe = next(line for line in terminal(made, Style(0), now=NOW).splitlines() if line.startswith("HIGH"))
        assert check in pipe.split(":")[0] and pipe.endswith("fix: take the word away") and "2 more" in pipe
        assert document(made)["entries"][0]["fact"] == check
        page = html(made)
        assert page.index(f"<b>{only.lead.fact} ") < page.index(f"<b>{other} ")
        for verbose in (False, True):
            text = " ".join(terminal(made, Style(80), verbose, NOW).split())
            assert f"NEXT f1f1f1f1 ({check}): on gpu001: take the word away" in text


@pytest.mark.parametrize(("check", "other"), _PAIRS)
@pytest.mark.parametrize("state", ["new", "known"])
@pytest.mark.parametrize("outcome", ["fail", "warn"])
def test_the_next_step_is_what_comes_first_whenever_it_came(check: str, other: str, state: Any, outcome: str) -> None:
    """It came at another time, or only warns: another entry, and yet what has to be done first."""
    first = _first(check, since=since(300, 299), state=state, outcome=outcome, severity="medium")
    found = [_blocked(other, 1, ("gpu001",)), first]
    assert len(entries(found)) == 2
    assert next_step(entries(found), report(causes=found), False)[0].startswith("f1f1f1f1 ")
    for away in (_first(check, hosts=("gpu002",), since=since(300, 299), state=state, severity="low"),
                 _first(check, state="resolved"), _first(check, outcome="unknown", since=since(300), severity="low")):
        found = [_blocked(other, 1, ("gpu001",)), away]
        assert next_step(entries(found), report(causes=found), False)[0].startswith("00000001 ")


@pytest.mark.parametrize(("check", "other"), _PAIRS)
def test_a_play_of_an_entry_is_limited_to_its_own_hosts(check: str, other: str) -> None:
    waves = (Wave(since(), ("gpu001",), "new"), Wave(since(300, 299), ("gpu002",), "known"))
    both = _blocked(other, 1, ("gpu001", "gpu002"), waves=waves, state="grown")
    left, = [each.lead for each in entries([both, _first(check)]) if each.lead.fact == other]
    assert left.hosts == ("gpu002",) and left.remedy.endswith(" -l gpu002")
    assert [each.shown for each in left.commands] == [left.remedy.removeprefix("run: ")]


def test_a_short_form_says_how_many_failures_stand_below_the_one_that_leads() -> None:
    check, other = _PAIRS[0]
    many = [cause(fact=f"fact.{number}", authority="majority", id=f"a000000{number:x}", hosts=(f"gpu{number:03d}",),
                  text="what it says " * 9) for number in range(14)]
    found = [_first(check), *(_blocked(other, number, ("gpu001",)) for number in range(3)), *many]
    lines = terminal(report(causes=found), Style(80), now=NOW).splitlines()
    assert any("3 more failures" in line for line in lines), lines


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("state", ["new", "known"])
def test_failures_below_the_one_that_leads_are_named_where_there_is_room(width: int, state: Any) -> None:
    """First the checks that the fix of the lead does not end, whichever is ranked before."""
    check, other = _PAIRS[0]
    found = [_first(check, state=state), *(_blocked(other, number, ("gpu001",), state=state) for number in range(3)),
             _blocked("acs-redirect", 4, ("gpu001",), state=state)]
    many = [cause(fact=f"fact.{number}", authority="majority", id=f"a000000{number:x}", hosts=(f"gpu{number:03d}",),
                  text="what it says " * 9, before=None) for number in range(14)]
    tight = terminal(report(causes=[*found, *many]), Style(width), now=NOW)
    line = next((line for line in tight.splitlines() if "acs-redirect" in line), "")
    room = width > (60 if state == "new" else 80)
    assert bool(line) == room, tight
    assert other not in line or line.index("acs-redirect") < line.index(other)
    text = " ".join(terminal(report(causes=found), Style(width), now=NOW).split())
    assert ("acs-redirect" in text) == (state == "new" or room), text
    assert "acs-redirect" in " ".join(terminal(report(causes=found), Style(0), now=NOW).split())
