"""Where a terminal shows an entry in few lines, neither the judgement, nor what the fix takes, nor a command is cut."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN, cause, play, report, row, since

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Since
from tunecheck_fleet.outputs.terminal import terminal

_NEEDS = {"reboot": "its fix needs a reboot", "hands-on": "to put it back: hands-on work"}
_SINCES = (since(), since(12345, 12344), since(365, None), Since(365, WHEN, untold=True), None)


@pytest.mark.parametrize("width", [80, 90, 100, 140, 200])
@pytest.mark.parametrize("expected", ["changed", "desired x16", "differs from 299 of 300 in h100-a",
                                      "desired " + ", ".join(["configured, generated and running"] * 3)])
@pytest.mark.parametrize("fix", sorted(_NEEDS))
def test_the_judgement_is_whole_and_the_times_go_first(width: int, expected: str, fix: Any) -> None:
    desired = fix == "reboot"
    command = play("cmdline", ",".join(f"gpu{number:03d}" for number in range(9)))
    made = [cause(fact=f"fact.{number}", authority="desired" if desired else "previous", expected=expected, fix=fix,
                  outcome="fail" if desired else "", since=when, id=f"1000000{number}", text="what it says " * 9,
                  **(command if desired else {})) for number, when in enumerate(_SINCES)]
    made += [cause(fact=f"old.{number}", authority="majority", state="known", since=since(350, 349),
                   id=f"000000{number:02}", hosts=(f"gpu{number:03d}",)) for number in range(25)]
    lines = terminal(report(hosts=tuple(row(f"gpu{number:03d}") for number in range(60)), causes=made),
                     Style(width), now=WHEN).splitlines()
    assert all(len(line) <= width for line in lines if "ansible-playbook" not in line)
    text = " ".join(" ".join(lines).split())
    assert text.count(f"; {expected}; {_NEEDS[fix]}") == len(_SINCES), text
    assert not [line for line in lines if line.endswith("...") and ("fix:" in line or "tunecheck " in line)]
    for when in ("#364..#365", "#12344..#12345", "before #365", "not known"):
        assert f"since {when}" in text or width < 140 or len(expected) > 60
