"""Every count on the page is the same count in the terminal and in the JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.fleet.reports import cause, example, fleet, hostile, report, row

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Decision, FleetReport
from tunecheck_fleet.outputs.counts import of_hosts, verdict_line
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal


def _blind(number: int, *hosts: str, group: str = "h100-a") -> Any:
    return cause(fact=f"check-{number}", severity="low", outcome="unknown", before=None, text="cannot be read",
                 hosts=hosts, group=group, id=f"0000000{number}")


def _texts() -> FleetReport:
    """One group drifted and could not be judged in part, of another nothing could be judged."""
    lost = [cause(authority="majority", fact=fact, hosts=("r1",), before=8, value=7, group="rtx")
            for fact in ("gpu.count", "pcie.gpus")]
    return report(
        hosts=(row("r1", "rtx"), row("r2", "rtx"), row("h1", "hgx"), row("h2", "hgx")),
        causes=(cause(hosts=("r1",), group="rtx"), *lost, _blind(1, "r1", "r2", group="rtx"),
                *(_blind(number, "h1", "h2", group="hgx") for number in range(2, 9)),
                cause(fact="kernel-taint", outcome="warn", severity="medium", standing=True, hosts=("r1",),
                      group="rtx")))


def _only_blind() -> FleetReport:
    return report(causes=(_blind(1, "gpu001", "gpu002"), _blind(2, "gpu001")))


_REPORTS = {"example": example, "texts": _texts, "blind": _only_blind, "clean": report, "hostile": hostile,
            "many": lambda: fleet(60, 5)}


def _page(told: FleetReport) -> tuple[str, Any]:
    page = html(told)
    data = re.search(r'<script type="application/json" id="page">(.*?)</script>', page, re.S)
    assert data is not None
    return page, json.loads(data[1])


def _groups(page: str) -> list[tuple[int, int]]:
    """Per group: drifted, not judged."""
    table = page.partition('id="groups-title"')[2].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>(\d+)</td>", line) for line in table.splitlines() if "<td" in line]
    return [(int(cells[2]), int(cells[3])) for cells in rows]


@pytest.mark.parametrize("name", sorted(_REPORTS))
def test_each_host_has_its_counts(name: str) -> None:
    told = _REPORTS[name]()
    _, data = _page(told)
    by_host, rows = of_hosts(told), {each["host"]: each for each in document(told)["hosts"]}
    for host in data["hosts"]:
        if host[0] not in rows:         # cut, or escaped
            continue
        counts = dict(zip(data["kinds"], host[6], strict=True))
        found = by_host.get(host[0], {})
        assert counts["drift"] == sum(found.get(word, 0) for word in ("high", "medium", "low"))
        assert counts["unjudged"] == found.get("unjudged", 0) == rows[host[0]]["unjudged"]
    for kind, place in ((kind, place) for place, kind in enumerate(data["kinds"]) if len(told.causes) < 400):
        listed = Counter(host for each in data["causes"] if each[5] == place for host in each[4]
                         if isinstance(host, int))
        assert [listed[index] for index, _ in enumerate(data["hosts"])] == [
            host[6][place] for host in data["hosts"]], kind


@pytest.mark.parametrize("name", sorted(_REPORTS))
def test_the_groups_make_up_the_head(name: str) -> None:
    told = _REPORTS[name]()
    page, _ = _page(told)
    groups, line = _groups(page), verdict_line(told)
    on = re.search(r"^DRIFT: .*? on (\d+) host", line)
    assert sum(drifted for drifted, _ in groups) == (int(on[1]) if on else 0)
    blind = {host for each in told.unjudged for host in each.hosts}
    assert sum(unjudged for _, unjudged in groups) == len(blind)
    assert bool(blind) == ("could not be judged" in line)


def test_a_group_of_which_nothing_drifted_is_not_red() -> None:
    assert _groups(_page(_texts())[0]) == [(0, 2), (1, 2)]


def test_where_nothing_drifted_the_first_word_is_unknown() -> None:
    told = _only_blind()
    line = "UNKNOWN: 2 causes on 2 hosts could not be judged, and no drift was found"
    assert verdict_line(told) == document(told)["summary"]["verdict"] == line
    assert terminal(told, Style(120)).splitlines()[-1] == line
    assert '<span class="badge unknown">UNKNOWN</span>' in html(told)
    assert document(told)["summary"]["outcome"] == "unknown"


def test_a_warning_that_stands_is_counted_in_the_last_line() -> None:
    told = _only_blind()
    standing = replace(told.causes[0], outcome="warn", standing=True, fact="swap", id="5tand1ng")
    assert verdict_line(replace(told, causes=(*told.causes, standing))).endswith("and no drift was found; 1 standing")


def test_the_page_says_of_which_hosts_nobody_is_at_work() -> None:
    at_work = Decision(1, "acknowledge", 364, "90910684", "title", "root", "ann", "", "riser", 1000.0)
    told = cause(hosts=("gpu001", "gpu002", "gpu003"), acknowledged=at_work, covered=("gpu001", "gpu003"))
    assert ": riser; not of gpu002</dd>" in html(report(causes=(told,)))
    assert "; not of" not in html(report(causes=(replace(told, covered=told.hosts),)))
