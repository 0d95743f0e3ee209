"""Every word that a report of the fleet prints before what it says is one that `tunecheck explain` knows."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests.unit.fleet.nights import Fleet, audited
from tests.unit.fleet.reports import example

from tunecheck.cli.main import cli
from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import KINDS, SEVERITIES, STATUSES
from tunecheck_fleet.store.store import Store

#: Of a word: the hosts and numbers in it, and ids.
_OWN = re.compile(r" ?\([^()]*\)| on [\w.-]+$| #\d+$|^\d+ of \d+ |^[0-9a-f]{8}$")


def _words(page: str) -> set[str]:
    """What a line begins with, and what follows it up to the two blanks before the title."""
    found = set()
    for line in page.splitlines():
        mark, _, rest = line.partition(" ")
        if not re.fullmatch(r"[A-Z]{3,}:?", mark):
            continue
        found.add(mark.rstrip(":"))
        before, blank, _ = rest.strip().partition("  ")
        if blank:
            found |= {_OWN.sub("", word) for word in re.sub(r" ?\([^()]*\)", "", before).split(", ")}
    return found - {""}


def _pages(found: FleetReport) -> list[str]:
    return [terminal(found, Style(width), verbose, now=found.audit.started)
            for width, verbose in ((0, False), (0, True), (200, False))]


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Of a made-up fleet, and of causes that have everything that a cause can have."""
    clock, found = [0.0], set[str]()
    fleet = Fleet(20, 5)
    hosts = fleet.take(8, "rack00")
    fleet.mark("smt", 2, hosts[:1])
    fleet.mark("governor", 2, hosts[1:2], until=4)
    fleet.mark("driver", 3, hosts[2:7])
    fleet.mark("vbios", 4, hosts[:1])
    fleet.quiet(hosts[0], 5, 5)
    with Store(str(tmp_path_factory.mktemp("store") / "fleet.db"), clock=lambda: clock[0]) as store:
        audited(store, fleet, clock, lambda _, each: [found.update(_words(page)) for page in _pages(each)] and None)
    report = example()
    for change in ({"rollout": True}, {"intended": True}, {"flapping": ("a",)}, {"standing": True, "outcome": "warn"}):
        causes = tuple(replace(each, **change) for each in report.causes)      # type: ignore[arg-type]
        found.update(word for page in _pages(replace(report, causes=causes)) for word in _words(page))
    return found


def test_every_word_is_explained(told: set[str]) -> None:
    assert {"HIGH", "rollout", "new", "known", "NOTE", "silent", "by our own roles"} <= told
    codes = {*KINDS, *STATUSES, *SEVERITIES, "in change", "as the specification asks", "cannot be told now"}
    unknown = {word for word in sorted(told | codes)
               if CliRunner().invoke(cli, ["explain", word]).exit_code != 0}
    assert not unknown


def test_the_words_of_a_line() -> None:
    line = "HIGH     new, rollout, 1 of 6 silent (last heard in #8, 2 h ago), flapping on a01..a03 (3)  cpu.smt: 1"
    assert _words(line) >= {"HIGH", "new", "rollout"}
