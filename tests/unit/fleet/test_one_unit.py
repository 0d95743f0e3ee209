"""All counts of one report are of things that happened: its head, its last line, its JSON and its page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.facts.trees import full, switch
from tests.unit.fleet.test_read import answer

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import report
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


@pytest.mark.parametrize("night", [0, 1])
def test_every_count_of_a_report_is_of_entries(nights: list[FleetReport], night: int) -> None:
    found = nights[night]
    happened = [entry.lead for entry in entries(found.causes) if entry.lead.counts]
    assert len(happened) < len(found.drift), "something is folded"
    for width in (0, 100):
        lines = terminal(found, Style(width)).splitlines()
        head = next(line for line in lines if line.startswith("CAUSES"))
        assert sum(int(count) for count, word in re.findall(r"(\d+) (\w+)", head) if word in OPEN) == len(happened)
        assert f"{len(happened)} causes on" in lines[-1]
    summary = document(found)["summary"]
    assert summary["drift"] == len(happened) == sum(summary["causes"][word] for word in OPEN)
    page = html(found)
    banner, heading = re.search(r"(\d+) causes? on", page), re.search(r'Causes <span class="count">(\d+)', page)
    assert banner and heading and banner[1] == heading[1] == str(len(happened))
    for row in found.hosts:
        assert row.drifted == sum(row.host in lead.hosts for lead in happened)


def test_with_v_every_cause_counts_for_itself(nights: list[FleetReport]) -> None:
    lines = terminal(nights[0], Style(100), verbose=True).splitlines()
    head = next(line for line in lines if line.startswith("CAUSES"))
    count = len(nights[0].drift)
    assert sum(int(count) for count, word in re.findall(r"(\d+) (\w+)", head) if word in OPEN) == count
    assert f"{count} causes on" in lines[-1]
