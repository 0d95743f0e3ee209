"""What could not be judged is drift in no output and a pass in none: text, exit code, JSON, JUnit, metrics and page."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.fleet.reports import cause, report, row
from tests.unit.fleet.test_outputs_data import _samples

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, FleetReport, Waived
from tunecheck_fleet.judge import exit_code
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.junit import junit
from tunecheck_fleet.outputs.prometheus import prometheus
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.webhook import event

_HOSTS = ("gpu1", "gpu2", "gpu3")


def _made(parts: list[dict[str, Any]]) -> FleetReport:
    """Each of a check of its own, but for every third, which shares one with another."""
    causes = []
    for number, part in enumerate(parts):
        known = {"unknown": "low", "warn": "medium", "fail": "high"}[part["outcome"]]
        causes.append(cause(fact=f"check-{number - number % 3 // 2}", id=f"{number:08x}", group="g", before=None,
                            value=None, text="so it is", severity="medium" if part["was"] else known, **{
                                **part, "was": part["was"] if part["outcome"] == "unknown" else ""}))
    return report(hosts=tuple(row(host, "g") for host in _HOSTS), causes=tuple(causes))


_PARTS = st.fixed_dictionaries({
    "outcome": st.sampled_from(["unknown", "warn", "fail"]), "was": st.sampled_from(["", "", "fail", "warn"]),
    "state": st.sampled_from(["new", "known", "resolved"]), "hosts": st.sampled_from([("gpu1",), _HOSTS[1:], _HOSTS]),
    "waived": st.sampled_from([None, None, Waived(1, 2e9, "kim", "known")]), "standing": st.just(False)})


def _is_drift(each: Cause) -> bool:
    """By what docs/fleet.md says, not by the code."""
    return each.state != "resolved" and each.waived is None and (each.outcome != "unknown" or each.severity != "low")


def _is_unread(each: Cause) -> bool:
    return each.state != "resolved" and each.waived is None and each.outcome == "unknown" and each.severity == "low"


@settings(max_examples=60)
@given(st.lists(_PARTS, max_size=6))
def test_one_definition(parts: list[dict[str, Any]]) -> None:
    told = _made(parts)
    drift = [each for each in told.causes if _is_drift(each)]
    unread = [each for each in told.causes if _is_unread(each)]
    word = "DRIFT" if drift else "UNKNOWN" if unread else "CLEAN"

    lines = terminal(told, Style(100), verbose=True).splitlines()
    assert lines[-1].startswith(f"{word}: ")
    assert sum(line.startswith("UNKNOWN  ") for line in lines) == len(unread)

    assert exit_code(told, ["drift"]) == bool(drift)
    assert exit_code(told, ["fail"]) == any("fail" in (each.outcome, each.was) for each in drift)
    assert exit_code(told, ["unknown"]) == any(each.outcome == "unknown" for each in [*drift, *unread])
    assert exit_code(told, ["drift", "unknown"]) == 0 or word != "CLEAN"

    data = document(told)
    assert data["summary"]["outcome"] == word.lower()
    assert {each["id"] for each in data["causes"] if each["counts"]} == {each.id for each in drift}
    assert {each["id"] for each in data["causes"] if each["kind"] == "unjudged"} == {each.id for each in unread}
    assert data["summary"]["unjudged"] == data["summary"]["causes"]["unjudged"] == len(unread)
    of_hosts = Counter(host for each in drift for host in each.hosts)
    blind = Counter(host for each in unread for host in each.hosts)
    assert all(each["unjudged"] == blind[each["host"]] for each in data["hosts"])

    suites = ElementTree.fromstring(junit(told))
    cases = {case.get("name"): [each.tag for each in case] for case in suites.iter("testcase")}
    drifted, dark = {each.fact for each in drift}, {each.fact for each in unread}
    assert {name for name, tags in cases.items() if "failure" in tags} == drifted
    assert {name for name, tags in cases.items() if "error" in tags} == dark - drifted

    found = _samples(prometheus(told))
    assert sum(found["tunecheck_drift"].values()) == len(drift)
    assert found["tunecheck_unjudged"]['group="g"'] == len(unread) == found["tunecheck_causes"]['state="unjudged"']
    assert sum(found["tunecheck_causes"][f'state="{state}"'] for state in ("new", "grown", "known", "acknowledged")
               ) == len(drift)
    for host in _HOSTS:
        assert found["tunecheck_host_unjudged"][f'host="{host}"'] == blind[host]
        assert sum(found["tunecheck_host_drift"][f'host="{host}",severity="{severity}"']
                   for severity in ("high", "medium", "low")) == of_hosts[host]
    assert len(found.get("tunecheck_host_finding", ())) == sum(of_hosts.values())

    page = html(told)
    assert f">{word}</span>" in page
    data = json.loads(re.search(r'id="page">(.*?)</script>', page, re.S)[1])      # type: ignore[index]
    for host in data["hosts"]:
        counts = dict(zip(data["kinds"], host[6], strict=True))
        assert (counts["drift"], counts["unjudged"]) == (of_hosts[host[0]], blind[host[0]])

    news = event(told)
    for each in (*drift, *unread):
        if each.new_hosts and news is not None and len(parts) < 5:
            mark = "UNKNOWN" if each in unread else each.severity.upper()
            assert f"NEW {mark} g {each.fact}" in news["text"]


def test_no_junit_text_contradicts_itself() -> None:
    """What the fix takes is not called the fix: "none" beside a command would be two answers."""
    for fix in ("none", "reload", "reboot", "firmware", "hands-on"):
        for outcome in ("unknown", "fail", "warn", ""):
            told = report(causes=(cause(fix=fix, outcome=outcome, remedy="add: sudo lspci -nnvvv"),))
            for case in ElementTree.fromstring(junit(told)).iter("testcase"):
                for each in case:
                    names = [line.partition(":")[0] for line in (each.text or "").splitlines()]
                    assert len(names) == len(set(names)), each.text
                    assert "fix: none" not in (each.text or "") and "remedy:" not in (each.text or "")
