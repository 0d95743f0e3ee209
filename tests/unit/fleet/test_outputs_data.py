"""An audit as JSON, JUnit, metrics and a page: formats, bounds, and what nobody may smuggle in."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from tests.unit.fleet.reports import DAY, WHEN, cause, example, fleet, head, hostile, problem, report, row, since
from tests.unit.report.closed import closed

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.model import Change
from tunecheck_fleet.outputs import rendered, write_outputs
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.html.timeline import timeline
from tunecheck_fleet.outputs.prometheus import METRICS, prometheus
from tunecheck_fleet.outputs.rows import BlameRow, DriftRow, FleetRow, HistoryRow, list_document, with_coverage
from tunecheck_fleet.outputs.schema import SCHEMAS
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.store.rows import Volatile, Waiver

_ROOT = Path(__file__).resolve().parents[3]
REPORTS = {"example": example(), "quiet": report(), "hostile": hostile(), "many": fleet(60, 5),
           "empty": report(hosts=(), previous=None)}


@pytest.mark.parametrize("name", REPORTS)
def test_documents_keep_to_their_schema(name: str) -> None:
    data = json.loads(rendered("json", REPORTS[name]))
    jsonschema.validate(data, closed(SCHEMAS["fleet-1.json"]))
    if (told := event(REPORTS[name])) is not None:
        jsonschema.validate(json.loads(json.dumps(told)), closed(SCHEMAS["fleet-event-1.json"]))


def test_the_document_holds_everything() -> None:
    told = example()
    data = document(dataclasses.replace(told, judged=(("h100-a", "smt"),)))
    # ``beside`` tells the words of a fact that was asked for alone; it is not what the report is about.
    fields = {field.name for field in dataclasses.fields(FleetReport)} - {"beside"}
    assert fields <= set(data), "a field of the report that the document does not have"
    assert data["summary"]["drift"] == 4 and data["summary"]["causes"] == {
        "new": 3, "grown": 0, "known": 1, "acknowledged": 0, "unjudged": 0, "resolved": 1, "waived": 1, "approved": 0,
        "intended": 1, "standing": 1}
    assert data["summary"]["hosts"]["unreachable"] == 1 and data["summary"]["answered"] == 6
    assert [each["counts"] for each in data["causes"]] == [each.drifts for each in told.causes]
    for mine, theirs in ((data["causes"][0], told.causes[0]), (data["hosts"][0], told.hosts[0]),
                         (data["audit"], told.audit), (data["hosts"][0]["problems"][0], told.hosts[0].problems[0])):
        assert {field.name for field in dataclasses.fields(theirs)} <= set(mine)


#: What the verb says of a waiver that covers nothing.
_COVERS = {"covered_in": None, "covers": [], "covers_also": [], "left_out": ""}


def test_lists_keep_to_their_schema() -> None:
    rows = [FleetRow("gpu1", "a", "ok"), DriftRow("gpu1", "a", "smt", None, {"on": 1}, since()),
            HistoryRow("smt", "on", since(), None, 3, WHEN), BlameRow("smt", "on", since(), None, Change("r", WHEN)),
            BlameRow("smt", "on", since())]
    data = list_document("blame", rows, host="gpu1", fact="smt")
    jsonschema.validate(json.loads(json.dumps(data)), closed(SCHEMAS["fleet-list-1.json"]))
    kept = Waiver(1, "smt", "gpu1", None, None, None, "why", "kim", WHEN), Volatile("smt", 3, 0.5, 0.1)
    data_of_waivers = with_coverage(list_document("waive", kept), [_COVERS, {}])
    jsonschema.validate(json.loads(json.dumps(data_of_waivers)), closed(SCHEMAS["fleet-list-1.json"]))
    assert data["rows"][3]["change"] == {"run": "r", "at": WHEN, "state": ""}


# ---- JUnit ------------------------------------------------------------------------------------------------------

def _suites(told: FleetReport) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(rendered("junit", told))
    for element in [root, *root]:
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(name) == str(sum(case.find(tag) is not None for case in cases))
    return {str(suite.get("name")): suite for suite in root}


def _results(suite: ElementTree.Element) -> dict[str, str]:
    """Case -> the element that says how it went."""
    found = {}
    for case in suite:
        if case.tag == "testcase":
            tags = [each.tag for each in case if each.tag in ("failure", "error", "skipped")]
            assert len(tags) <= 1, "CI would count it twice"
            found[str(case.get("name"))] = tags[0] if tags else "passed"
    return found


def test_junit_has_a_case_per_group_and_fact() -> None:
    told = dataclasses.replace(example(), judged=(("h100-a", "kernel.cmdline.iommu"), ("h100-a", "link-width"),
                                                  ("h100-b", "smt")))
    suites = _suites(told)
    assert _results(suites["h100-a"]) == {
        "coverage": "error", "kernel.cmdline.iommu": "failure", "link-width": "passed", "gpu.driver": "failure",
        "package.containerd": "passed", "kernel.release": "failure", "cpu.governor": "passed",
        "pci-words": "passed"}
    assert _results(suites["h100-b"]) == {"coverage": "error", "gpu.pcie_width": "failure", "nic.fw": "skipped",
                                          "smt": "skipped"}
    (failure,) = [case.find("failure") for case in suites["h100-a"] if case.get("name") == "kernel.cmdline.iommu"]
    assert failure is not None and "on 3 hosts; desired pt" in failure.get("message", "")
    assert "3 hosts: gpu001..gpu003 (3)" in (failure.text or "")


def test_junit_of_a_thousand_hosts_stays_small() -> None:
    text = rendered("junit", fleet())
    assert text.count("<testcase") < 100 and len(text) < 200_000
    assert rendered("junit", hostile()).isascii() and _suites(hostile())


# ---- metrics ----------------------------------------------------------------------------------------------------

_SAMPLE = re.compile(r'(tunecheck_[a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (-?[0-9.]+(?:e[+-]?\d+)?)')


def _samples(text: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            found.setdefault(sample.group(1), {})[sample.group(2) or ""] = float(sample.group(3))
    return found


def test_metrics_count_and_name_no_value() -> None:
    found = _samples(prometheus(example()))
    assert found["tunecheck_drift"]['group="h100-a",severity="high"'] == 1
    assert found["tunecheck_drift"]['group="h100-b",severity="low"'] == 0, "a waived cause is no drift"
    assert found["tunecheck_drift_hosts"]['group="h100-a",severity="high"'] == 3
    assert found["tunecheck_host_drift"]['host="gpu001",severity="medium"'] == 1
    assert found["tunecheck_hosts"]['status="timeout"'] == 1 and found["tunecheck_audit_hosts_asked"][""] == 8
    assert found["tunecheck_audit_timestamp_seconds"][""] == WHEN
    assert found["tunecheck_audit_duration_seconds"][""] == 60
    silent = [sample for sample in found["tunecheck_host_drift"] if "gpu007" in sample or "gpu008" in sample]
    assert silent == [], "nothing is known of a host that did not answer"
    for value in ("580.82.07", "pt", "28.43.1014"):
        assert f'"{value}"' not in prometheus(example())
    assert "tunecheck_audit_duration_seconds" not in prometheus(report(audit=head(finished=None)))


def test_every_metric_is_documented() -> None:
    page = (_ROOT / "docs/metrics.md").read_text()
    table = dict(re.findall(r"^\| `(tunecheck_[a-z0-9_]+)` \| ([^|]*)\|", page, re.MULTILINE))
    emitted = _samples(prometheus(example()))
    assert set(emitted) == set(METRICS) <= set(table)
    for name, samples in emitted.items():
        labels = {label for sample in samples for label in re.findall(r'(?:^|,)([a-z_]+)="', sample)}
        assert labels == set(re.findall(r"`([a-z_]+)`", table[name])), name
    series = sum(map(len, _samples(prometheus(fleet())).values()))
    assert series == pytest.approx(4500, abs=50), "as docs/metrics.md says"


def test_hostile_metrics_stay_one_sample_a_line() -> None:
    assert _samples(prometheus(hostile()))


# ---- the page ---------------------------------------------------------------------------------------------------

def _data(page: str) -> Any:
    return json.loads(page.split('<script type="application/json" id="page">')[1].split("</script>")[0])


def test_the_page_lets_run_only_what_is_in_it() -> None:
    page = html(hostile())
    assert page.count("<script") == 2 and "<img" not in page and "\u202e" not in page and "\x1b" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy and policy.group(1).startswith("default-src &#39;none&#39;")
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert digest in policy.group(1).replace("&#43;", "+")
    assert not re.search(r'(?:src|href)="(?!data:,|#)', page)


def test_the_page_is_bounded() -> None:
    wild = [row(f"gpu{number}", problems=tuple(problem(text=f"{number} {at} {'x' * 5000}") for at in range(150)),
                unknown={f"f{number}.{at}": "y" * 5000 for at in range(150)}) for number in range(80)]
    causes = tuple(cause(fact=f"f{number}", text="z" * 5000, value="v" * 5000) for number in range(600))
    page = html(report(hosts=tuple(wild), causes=causes))
    assert len(page) < 12_000_000
    assert "100 more causes are too many for this page" in page
    assert _data(page)["hosts"][0][-1] == 100, "50 findings and 50 facts are left out, and counted"
    assert len(html(fleet())) < 2_000_000


def test_what_hosts_share_is_in_the_page_once() -> None:
    hosts = tuple(row(f"gpu{number}", problems=(problem(remedy="fix it"),)) for number in range(100))
    data = _data(html(report(hosts=hosts)))
    assert len(data["problems"]) == 1 and {host[9][0] for host in data["hosts"]} == {0}


def test_the_timeline_keeps_to_the_newest() -> None:
    assert timeline([]) is None and timeline([(1, WHEN, 5, 5)]) is None
    drawn = timeline([(number, WHEN + number * DAY, number, 10) for number in range(400)])
    assert drawn and len(drawn.bars) == 120 and drawn.left_out == 280 and drawn.rows[0][0] == 399
    assert all(bar.height >= 0 and bar.y >= 0 and bar.x + bar.width <= drawn.width for bar in drawn.bars)
    still = timeline([(number, WHEN, 0, 0) for number in range(3)])
    assert still and [bar.height for bar in still.bars] == [0, 0, 0]


# ---- files ------------------------------------------------------------------------------------------------------

def test_files_that_name_hosts_are_private(tmp_path: Path) -> None:
    wanted = {kind: str(tmp_path / f"audit.{kind}") for kind in ("json", "junit", "html")}
    wanted["prometheus"] = str(tmp_path / "audit.prom")
    kept = tmp_path / "audit.html"
    kept.write_text("old")
    kept.chmod(0o644)      # whatever was there before
    notes = write_outputs({**wanted, "webhook": None}, example())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"audit.json": 0o600, "audit.junit": 0o600, "audit.html": 0o600, "audit.prom": 0o644}
    assert notes[0] == f"JSON: {wanted['json']}" and "old" not in kept.read_text()[:10]
