"""The shipped alert rules, by promtool; and what a real report gives them."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.unit.fleet.reports import cause, report, row

from tunecheck.report.prometheus import METRICS as OF_BOXES
from tunecheck.watch.tell import METRICS as OF_WATCH
from tunecheck_fleet.fleet_report import Wave
from tunecheck_fleet.outputs.prometheus import METRICS, prometheus

ALERTS = Path(__file__).resolve().parents[3] / "docs/alerts"
RULES = [rule for group in yaml.safe_load((ALERTS / "tunecheck-rules.yml").read_text())["groups"]
         for rule in group["rules"]]
promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt: prometheus)")
_THEIRS = {"node_boot_time_seconds"}


def _tested(place: Path) -> None:
    done = subprocess.run(["promtool", "test", "rules", place], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@promtool
def test_every_rule_fires_and_is_silent() -> None:
    done = subprocess.run(["promtool", "check", "rules", "--lint-fatal", ALERTS / "tunecheck-rules.yml"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    _tested(ALERTS / "tunecheck-rules.test.yml")


def test_each_rule_has_a_test_of_both() -> None:
    told: dict[str, set[bool]] = {}
    for test in yaml.safe_load((ALERTS / "tunecheck-rules.test.yml").read_text())["tests"]:
        for case in test["alert_rule_test"]:
            told.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))
    assert told == {rule["alert"]: {True, False} for rule in RULES}


def test_rules_and_dashboard_name_metrics_that_are_written() -> None:
    dashboard = json.loads((ALERTS / "grafana-fleet.json").read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) and all(panel["targets"] for panel in panels)
    asked = [rule["expr"] for rule in RULES] + [each["expr"] for panel in panels for each in panel["targets"]]
    asked += [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]
    named = {name for text in asked for name in re.findall(r"\b(?:tunecheck|node)_[a-z0-9_]+", text)}
    assert named <= {*METRICS, *OF_BOXES, *OF_WATCH, *_THEIRS}, named - {*METRICS, *OF_BOXES, *OF_WATCH, *_THEIRS}


@promtool
def test_a_report_of_more_than_5000_hosts_is_one_alert_for_each_host(tmp_path: Path) -> None:
    """Night after night: the same labels while it is new and known, and news for who joins."""
    hosts = tuple(row(f"gpu{number:04d}") for number in range(5200))
    first, second = ("gpu5150", "gpu5198"), ("gpu5199",)
    base = cause(authority="majority", fact="driver.loaded", hosts=first, id="1a")
    nights = [report(hosts=hosts, causes=(dataclasses.replace(base, waves=(Wave(base.since, first, "new"),)),)),
              report(hosts=hosts, causes=(dataclasses.replace(
                  base, hosts=first + second, state="grown",
                  waves=(Wave(base.since, first, "known"), Wave(base.since, second, "new"))),))]
    series: dict[str, list[str]] = {}
    for at, night in enumerate(nights):
        for line in prometheus(night).splitlines():
            if line.startswith("tunecheck_host_finding{"):
                name, _, value = line.rpartition(" ")
                series.setdefault(name, ["_"] * at).append(value)
        for values in series.values():
            values += ["stale"] * (at + 1 - len(values))
    found = [{"exp_labels": {"host": host, "group": base.group, "severity": base.severity,
                                      "fact": "driver.loaded", "id": "1a"}, "exp_annotations": {
        "summary": f"{host}: driver.loaded is not what it should be",
        "description": f"tunecheck drift --host {host} says what it was, what it is and since when; finding 1a"}}
        for host in (*first, *second)]
    (tmp_path / "test.yml").write_text(json.dumps({
        "rule_files": [str(ALERTS / "tunecheck-rules.yml")], "evaluation_interval": "24h",
        "tests": [{"interval": "24h", "input_series": [{"series": name, "values": " ".join(values)}
                                                       for name, values in series.items()],
                   "alert_rule_test": [{"eval_time": "0h", "alertname": "TunecheckFinding", "exp_alerts": found[:2]},
                                       {"eval_time": "24h", "alertname": "TunecheckFinding", "exp_alerts": found}]}]}))
    _tested(tmp_path / "test.yml")
