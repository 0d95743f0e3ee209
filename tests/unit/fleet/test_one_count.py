"""Every output counts the same of a report: one thing that happened is one, however many facts and checks say it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from tests.unit.fleet.reports import cause, report, row
from tests.unit.fleet.test_outputs_data import _samples

from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.outputs.counts import of_hosts, summary, verdict_line
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.prometheus import prometheus
from tunecheck_fleet.outputs.text import OPEN, UNJUDGED, counted_as

_UNREAD = cause(fact="swap", outcome="unknown", severity="low", value=None, before=None, absence="failed", source="/x")
_CAUSES: dict[str, list[Cause]] = {
    "driver": [cause(authority="previous", fact=name) for name in ("driver.loaded", "driver.libraries", "cdi.x")],
    "unread": [replace(_UNREAD, fact=name) for name in ("swap", "smt", "clocksource")],
    "some": [cause(authority="previous", fact="driver.loaded", hosts=("gpu001", "gpu002")),
             cause(authority="previous", fact="driver.libraries", hosts=("gpu001",)),
             cause(authority="previous", fact="smt.x", hosts=("gpu002",), severity="medium")],
    "over": [cause(authority="previous", fact=name, state="resolved")
             for name in ("driver.loaded", "driver.libraries")],
}
_CAUSES["all"] = [each for those in _CAUSES.values() for each in those]


def _report(name: str) -> FleetReport:
    causes = tuple(replace(each, id=f"{number:08x}") for number, each in enumerate(_CAUSES[name]))
    return report(causes=causes, hosts=(row("gpu001"), row("gpu002"), row("gpu003", group="h100-b")))


@pytest.mark.parametrize("name", _CAUSES)
def test_metrics_and_json_count_what_the_report_counts(name: str) -> None:
    told = _report(name)
    leads = [each.lead for each in entries(told.causes)]
    assert len(leads) < len(told.causes)
    found = _samples(prometheus(told))
    kinds = Counter(map(counted_as, leads))
    assert {key: value for key, value in found["tunecheck_causes"].items() if value} == {
        f'state="{kind}"': count for kind, count in kinds.items()}
    drift = sum(lead.drifts for lead in leads)
    assert sum(found["tunecheck_drift"].values()) == drift == sum(kinds[word] for word in OPEN)
    assert sum(found["tunecheck_unjudged"].values()) == kinds[UNJUDGED]
    said = re.search(r"DRIFT: (\d+) cause", verdict_line(told))
    assert drift == (int(said[1]) if said else 0)
    assert all(f"{count} {word}" in summary(entries(told.causes)) for word, count in kinds.items() if word in OPEN)
    for host, counts in of_hosts(told).items():
        for severity in ("high", "medium", "low"):
            assert found["tunecheck_host_drift"][f'host="{host}",severity="{severity}"'] == counts.get(severity, 0)
        assert found["tunecheck_host_unjudged"][f'host="{host}"'] == counts.get(UNJUDGED, 0)
    told_json = document(told)["summary"]["causes"]
    assert {kind: count for kind, count in told_json.items() if count} == dict(kinds)
