"""All counts of one report are of things that happened: its head, its last line, its JSON and its page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.facts.trees import full, switch
from tests.unit.fleet.reports import cause
from tests.unit.fleet.reports import report as made
from tests.unit.fleet.test_read import answer

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import report
from tunecheck_fleet.outputs.counts import of_hosts, verdict_line
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import OPEN
from tunecheck_fleet.read import seen
from tunecheck_fleet.store.store import Store


@pytest.fixture(name="nights", scope="module")
def _nights(tmp_path_factory: pytest.TempPathFactory) -> list[FleetReport]:
    """Two nights of three boxes, one of which has no kernel log in the first: much is folded there, and over then."""
    dark, whole = (seen(answer(full(switch(), log=log))) for log in (None, "[    0.000000] Linux version 6.12.1\n"))
    found = []
    with Store(str(tmp_path_factory.mktemp("unit") / "fleet.db")) as store:
        for row in ((dark, whole, whole), (whole, whole, dark)):
            head = store.begin("all", [(f"h{number}", "g") for number in range(3)])
            for number, each in enumerate(row):
                store.put(head.id, replace(each, host=f"h{number}", group="g", key=f"key {number}"))
            store.finish(head.id)
            found.append(report(store, head.id))
    return found


def _counts(line: str) -> tuple[int, int]:
    """Of a heading or a last line: what was found, and what could not be judged."""
    found = re.findall(r"(\d+) (could not be judged|cause|\w+)(s? on \d+ hosts? could not be judged)?", line)
    blind = sum(int(count) for count, word, after in found if word.startswith("could") or after)
    return sum(int(count) for count, word, after in found if word in (*OPEN, "cause") and not after), blind


@pytest.mark.parametrize("blind", [0, 1, 3])
@pytest.mark.parametrize("seen", [0, 1, 2])
def test_what_could_not_be_judged_is_no_cause_and_names_no_other_hosts(blind: int, seen: int) -> None:
    """It is no drift, and no pass."""
    causes = (*(cause(fact=f"seen-{number}", hosts=(f"s{number}",), outcome="fail") for number in range(seen)),
              *(cause(fact=f"blind-{number}", hosts=(f"b{number}",), outcome="unknown", severity="low")
                for number in range(blind)))
    line = verdict_line(made(causes=causes))
    assert line.startswith("DRIFT: " if seen else "UNKNOWN: " if blind else "CLEAN: "), line
    assert _counts(line) == (seen, blind), line
    if causes:
        assert re.search(rf"\bon {seen or blind} hosts?\b", line), line


@pytest.mark.parametrize("night", [0, 1])
def test_every_count_of_a_report_is_of_entries(nights: list[FleetReport], night: int) -> None:
    found = nights[night]
    happened = [entry.lead for entry in entries(found.causes) if entry.lead.counts]
    told = [lead for lead in happened if not lead.unjudged]
    assert len(happened) < len(found.open), "something is folded"
    for width, verbose in ((0, False), (80, False), (100, False), (0, True), (100, True)):
        lines = terminal(found, Style(width), verbose).splitlines()
        head = next(line for line in lines if line.startswith("CAUSES"))
        assert _counts(head) == _counts(lines[-1]) == (len(told), len(happened) - len(told))
    summary = document(found)["summary"]
    assert summary["drift"] == len(told) == sum(summary["causes"][word] for word in OPEN)
    assert summary["unjudged"] == len(happened) - len(told) == summary["causes"]["unjudged"]
    page = html(found)
    banner, heading = re.search(r'class="host">([^<]*)', page), re.search(r'Causes <span class="count">([^<]*)', page)
    assert banner and heading and _counts(banner[1])[1] == _counts(heading[1])[1] == len(happened) - len(told)
    assert _counts(banner[1])[0] == int(heading[1].partition(":")[0].partition(";")[0]) == len(told)
    listed = of_hosts(found)
    for row in found.hosts:
        counts = dict(listed.get(row.host, {}))
        assert counts.pop("unjudged", 0) == sum(row.host in lead.hosts for lead in happened if lead.unjudged)
        assert row.drifted == sum(row.host in lead.hosts for lead in told) == sum(counts.values())


def test_v_shows_every_cause_and_counts_as_without_it(nights: list[FleetReport]) -> None:
    lines, short = (terminal(nights[0], Style(100), verbose=verbose).splitlines() for verbose in (True, False))
    head = next(line for line in lines if line.startswith("CAUSES"))
    assert head in short and lines[-1] == short[-1] and _counts(head) == _counts(lines[-1])
    shown = " ".join(" ".join(lines).split())
    assert all(each.fact in shown for each in nights[0].open) and len(nights[0].open) > sum(_counts(head))
