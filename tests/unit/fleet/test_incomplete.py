"""Who does not know some facts is named on a terminal, and what to add: also in a short page."""

from __future__ import annotations

import pytest
from tests.unit.fleet.reports import WHEN, cause, report, row, since

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.outputs.terminal import terminal

STEP = "not in the import; add: sudo lspci -xxxx"
FACTS = {f"pcie.fact{number}": STEP for number in range(107)}
#: As long as names of hosts get.
LONG = [f"gpu{place}.rack{place}.example.com" for place in ("north", "south", "east", "west")]


def _report(hosts: list[str], events: int) -> FleetReport:
    old = tuple(cause(authority="majority", fact=f"fact.{number}", hosts=(hosts[0],), state="known",
                      since=since(300, 299), id=f"{number:08x}") for number in range(events))
    return report(causes=old, hosts=tuple(row(host, unknown={"gpu.first": "no permission", **FACTS}) for host in hosts))


@pytest.mark.parametrize("events", [1, 60], ids=["few", "page"])
@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("hosts", [["gpu001"], LONG[:1], LONG])
def test_a_terminal_names_the_hosts_and_the_step(hosts: list[str], width: int, events: int) -> None:
    lines = terminal(_report(hosts, events), Style(width), now=WHEN).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("NOTE"))
    said = " ".join(" ".join(lines[at:at + 4]).split())
    assert max(map(len, lines)) <= width
    assert hosts[0] in said or sorted(hosts)[0] in said
    assert "108 facts" in said and f"{len(hosts)} host" in said
    assert any(STEP in line for line in lines[at:]), "the step of most facts, whole"


def test_a_pipe_has_all_of_it_in_one_line() -> None:
    line, = (line for line in terminal(_report(LONG, 60), Style(0), now=WHEN).splitlines() if line.startswith("NOTE"))
    assert f"4 hosts: {min(LONG)}" in line and STEP in line
