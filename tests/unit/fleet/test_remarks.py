"""What was decided of a cause, and what it is beside new or known, is never cut off; a note is not, either."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN, cause, report, row, since

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, Decision, LastHeard, Since, Waived
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal

NOW = WHEN + 2 * 3600


def _decision(kind: str, owner: str = "") -> Decision:
    return Decision(1, kind, 364, "90910684", "title", "root", owner, "", "why", WHEN)     # type: ignore[arg-type]


_OLD = cause(fact="bar1-size", subject="GPU0", outcome="fail", hosts=("r3",), state="known", since=since(364, 363),
             before=None, text="BAR1 has only 256 MiB, " * 8, id="90910684")
_SEEN = {
    "acknowledged (ann)": dataclasses.replace(_OLD, acknowledged=_decision("acknowledge", "ann"), covered=("r3",)),
    "acknowledged (root)": dataclasses.replace(_OLD, acknowledged=_decision("acknowledge"), covered=("r3",)),
    "acknowledged on 1 of 2 (ann)": dataclasses.replace(
        _OLD, hosts=("r3", "r4"), acknowledged=_decision("acknowledge", "ann"), covered=("r3",)),
    "flapping": dataclasses.replace(_OLD, flapping=("r3",)),
    "rollout": dataclasses.replace(_OLD, rollout=True),
    "WAIVED by root": dataclasses.replace(_OLD, waived=Waived(1, WHEN + 1e6, "root", "why")),
    "APPROVED by root": dataclasses.replace(_OLD, authority="majority", outcome="", approved=_decision("approve")),
    "STANDING": dataclasses.replace(_OLD, outcome="warn", standing=True),
}
#: So many open causes beside it that a terminal is drawn tighter.
_CROWD = tuple(cause(fact=f"fact.{number}", id=f"1000000{number:02}", text="what it says " * 9) for number in range(15))


@pytest.mark.parametrize("width", [*range(60, 130, 5), 200])
@pytest.mark.parametrize("remark", sorted(_SEEN))
@pytest.mark.parametrize("crowd", [(), _CROWD], ids=["few", "many"])
@pytest.mark.parametrize("state", ["known", "new"])
def test_it_stands_before_what_is_cut(width: int, remark: str, crowd: tuple[Cause, ...], state: str) -> None:
    seen = dataclasses.replace(_SEEN[remark], state=state, since=since() if state == "new" else since(364, 363))
    told = report(hosts=(row("r3"), row("r4")), causes=(seen, *crowd))
    lines = terminal(told, Style(width), now=WHEN).splitlines()
    assert not [line for line in lines if len(line) > width]
    text = " ".join(" ".join(lines).split())
    # Where there is room the entry has several lines, and says who in one of its own.
    one_line = remark.startswith("acknowledged (") or (crowd and state == "known")
    said = remark if one_line else re.split(" by | on ", remark)[0]
    assert said in text, text
    assert "bar1-size" in text


@pytest.mark.parametrize("width", range(60, 121, 10))
@pytest.mark.parametrize("crowd", [(), _CROWD], ids=["few", "many"])
def test_a_note_is_whole(width: int, crowd: tuple[Cause, ...]) -> None:
    note = "carried/ holds files of 1 host that the inventory has not, which are left out of this audit"
    told = report(hosts=(row("r3"), row("r4")), causes=crowd, notes=(note,))
    text = " ".join(terminal(told, Style(width), now=WHEN).split())
    assert f"NOTE {note}" in re.sub(r"\s+", " ", text)


def test_a_known_cause_says_since_when_it_is_known() -> None:
    """"known, #1 now" could be read as its age alone."""
    made = report(causes=(cause(fact="smt", state="known", hosts=("gpu007",), since=Since(365, NOW - 5)),))
    assert "known, since #365 (just now)" in terminal(made, Style(120), now=NOW)


@pytest.mark.parametrize("width", [0, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("state", ["new", "grown", "known"])
@pytest.mark.parametrize("acknowledged", [False, True])
def test_what_a_silent_box_had_says_so_in_every_line(width: int, state: Any, acknowledged: bool) -> None:
    decision = _decision("acknowledge", "ann") if acknowledged else None
    made = report(causes=(cause(fact="smt", state=state, hosts=("gpu007", "gpu008"), acknowledged=decision,
                                covered=("gpu007", "gpu008") if acknowledged else (),
                                last_heard=(LastHeard(360, NOW - 7200, ("gpu008",)),)),))
    for verbose in (False, True):
        text = "".join(terminal(made, Style(width), verbose, NOW).split())
        assert "1of2silent(lastheardin#360,2hago)" in text, text
    assert "1 of 2 silent (last heard in #360" in html(made)
