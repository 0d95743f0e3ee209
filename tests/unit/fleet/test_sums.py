"""The numbers that a report prints add up, and are those of its JSON: what is shown and what is left out."""

from __future__ import annotations

import re

import pytest
from tests.unit.fleet.reports import WHEN, cause, head, report, row, since

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.terminal import terminal

_HOSTS = [f"gpu{number:03d}" for number in range(12)]


def _report(over: int, blind: int, checks: int) -> FleetReport:
    """So many that are over and so many that are over and could not be judged, and open ones that make it long."""
    old = [cause(authority="majority", fact=f"fact.{number}", hosts=(_HOSTS[number % 9],), state="known",
                 id=f"{number:08x}", since=since(300 - number, 299 - number)) for number in range(14)]
    gone = [cause(authority="majority", fact=f"over.{number}", hosts=(_HOSTS[0],), state="resolved",
                  since=since(200 - number, 199 - number)) for number in range(over)]
    unread = [cause(fact=f"check-{number % checks}", subject=f"part {number}", outcome="unknown", severity="low",
                    hosts=(_HOSTS[number % 9],), state=state, since=since(100 - number, 99 - number))
              for state in ("resolved", "known") for number in range(blind)]
    silent = [row(name, status=status, reason=f"{name} says no", last_ok=364) for name, status in zip(
        _HOSTS[9:], ("unreachable", "unreachable", "partial"), strict=True)]
    return report(audit=head(asked=12), hosts=(*map(row, _HOSTS[:9]), *silent), causes=(*old, *gone, *unread))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(("over", "blind", "checks"), [(2, 0, 1), (9, 0, 1), (3, 9, 9), (9, 9, 4), (1, 20, 20)])
def test_what_is_shown_and_what_is_left_out_add_up(over: int, blind: int, checks: int, width: int) -> None:
    made = _report(over, blind, checks)
    summary = document(made)["summary"]["causes"]
    lines = terminal(made, Style(width), now=WHEN).splitlines()
    several = [int(found[1]) for line in lines if (found := re.match(r"RESOLVED +(\d+) causes ", line))]
    shown = sum(line.startswith("RESOLVED") for line in lines) - len(several)
    at = max(index for index, line in enumerate(lines) if line.startswith("RESOLVED"))
    left = re.fullmatch(r" +and (\d+) more \(-v shows all\)", lines[at + 1])
    more = int((left or ["", "0"])[1])
    assert shown + sum(several) + more == summary["resolved"] == over + blind, "\n".join(lines)
    text = " ".join(" ".join(lines).split())
    if blind:
        found = re.search(
            r"known (\d+) causes(?: \((\d+) checks\))? on \d+ hosts could not be judged: (.*?) \(-v", text)
        assert found is not None and int(found[1]) == blind == summary["unjudged"]
        names = found[3].split(", ")
        rest = re.fullmatch(r"and (\d+) more", names[-1])
        assert (len(names) - 1 + int(rest[1]) if rest else len(names)) == int(found[2] or found[1]) == checks


@pytest.mark.parametrize("width", [0, 80, 200])
def test_what_can_be_judged_again_is_not_called_unknown(width: int) -> None:
    over = [cause(fact=f"check-{number}", authority="desired", outcome="unknown", severity="low", state="resolved",
                  id=f"0000000{number}", hosts=("gpu001",)) for number in range(9)]
    text = terminal(report(hosts=(row("gpu001"),), causes=over), Style(width), now=WHEN)
    assert re.search(r"(?m)^RESOLVED 9 causes on 1 host that could not be judged: check-0, ", text), text
    assert not re.search(r"(?m)^UNKNOWN ", text)


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [0, 80, 120])
def test_every_host_that_did_not_answer_wholly_is_told_with_its_own_status(width: int, verbose: bool) -> None:
    made = _report(9, 9, 4)
    lines = terminal(made, Style(width), verbose, now=WHEN).splitlines()
    for status, count in document(made)["summary"]["hosts"].items():
        if status != "ok" and count:
            told = [index for index, line in enumerate(lines) if line.startswith("INCOMPLETE") and status in line]
            named = sum(int(each) for index in told for each in re.findall(
                r"(\d+) hosts?:", " ".join(lines[index:index + 2])) [:1])
            assert named == count, "\n".join(lines)


@pytest.mark.parametrize("fact", [None, "fact.1"])
def test_how_many_answered_is_one_number_in_every_output(fact: str | None) -> None:
    made = focus(_report(1, 0, 1), None, fact)
    summary = document(made)["summary"]
    for verbose in (False, True):
        text = " ".join(terminal(made, Style(80), verbose, now=WHEN).split())
        found = re.search(r"12 hosts: (\d+) answered(?: \((\d+) in part\))?, (\d+) unreachable", text)
        assert found is not None and int(found[1]) == summary["answered"] == 10, text
        assert int(found[2] or 0) == summary["hosts"]["partial"] and int(found[1]) + int(found[3]) == summary["asked"]
