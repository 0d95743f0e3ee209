"""JUnit, Prometheus and HTML as files: their formats, where they may go, and what nobody may smuggle in."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.checks.measurements import measured
from tests.unit.refusing import refused
from tests.unit.report.boxes import WHEN, hostile, judged, spec, switches, trialled, wrong

from tunecheck.errors import Misuse
from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.document import Run
from tunecheck.report.exporters import check_outputs, write_outputs
from tunecheck.report.html import html
from tunecheck.report.junit import junit
from tunecheck.report.prometheus import METRICS, prometheus
from tunecheck_fleet.outputs.prometheus import METRICS as FLEET

_ROOT = Path(__file__).resolve().parents[3]
_SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? '
                     r"(-?[0-9.]+(?:e[+-]?\d+)?)")


def _one(*findings: Finding) -> Run:
    document = judged(switches(2), "host")[1].document
    return Run(document, list(findings), WHEN)


_ANY = st.builds(Finding, st.just("xid"), st.text(), st.text(),
                 st.sampled_from(["fail", "unknown", "warn", "pass", "skip"]),
                 st.just("effective"), st.text(), st.text(), st.text(), st.tuples(st.text()),
                 st.builds(Remedy, st.text()))


# ---- JUnit ----------------------------------------------------------------------------------------------------------

def _check_junit(text: str, findings: list[Finding]) -> ElementTree.Element:
    """What Jenkins' junit-10.xsd and GitLab ask for."""
    root = ElementTree.fromstring(text)
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert suite[0].tag == "properties" and {child.tag for child in suite[1:]} <= {"testcase"}
    outcomes = Counter(finding.outcome for finding in findings)
    assert {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": len(findings), "failures": outcomes["fail"], "errors": outcomes["unknown"],
        "skipped": outcomes["skip"]}
    names = [(case.attrib["classname"], case.attrib["name"]) for case in suite[1:]]
    assert len(set(names)) == len(names) == len(findings)
    for case, finding in zip(suite[1:], findings, strict=True):
        assert [child.tag for child in case] == {"fail": ["failure"], "unknown": ["error"], "skip": ["skipped"],
                                                 "warn": ["system-out"], "pass": []}[finding.outcome]
    return suite


def test_junit_has_a_case_per_finding() -> None:
    run = wrong()
    suite = _check_junit(junit(run), run.findings)
    assert suite.attrib["hostname"] == "box1"
    assert suite.attrib["timestamp"] == "2026-01-02T03:04:05"
    failure = next(case[0] for case in suite[1:] if case.attrib["classname"] == "tunecheck.acs-redirect" and len(case))
    assert "0000:02:00.0 ACSCtl=0x001d redirects" in failure.attrib["message"]
    assert "or run: ansible-playbook site.yml -i inventory/NAME --tags acs,cmdline -l box1" in (failure.text or "")


def test_junit_of_a_hostile_host() -> None:
    run = hostile()
    _check_junit(junit(run), run.findings)


@settings(deadline=None)
@given(st.lists(_ANY, max_size=4, unique_by=lambda finding: finding.subject))
def test_junit_of_anything_is_xml(findings: list[Finding]) -> None:
    ElementTree.fromstring(junit(_one(*findings)))


# ---- Prometheus -----------------------------------------------------------------------------------------------------

def _parsed(text: str) -> dict[str, dict[str, float]]:
    """Metric -> labels -> value. Strict: HELP, then TYPE, then samples of that metric only, none twice."""
    found: dict[str, dict[str, float]] = {}
    name = ""
    assert text.endswith("\n") and "\r" not in text
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in found
            found[name] = {}
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {name} gauge" and not found[name]
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            assert sample.group(1) == name
            assert (sample.group(2) or "") not in found[name], f"twice: {line}"
            found[name][sample.group(2) or ""] = float(sample.group(3))
    assert all(found.values()), "a metric without samples"
    return found


def test_metrics_tell_links_verdict_and_time() -> None:
    found = _parsed(prometheus(wrong()))
    assert found["tunecheck_run_outcome"]['outcome="fail"'] == 1
    assert sum(found["tunecheck_run_outcome"].values()) == 1
    assert found["tunecheck_run_timestamp_seconds"][""] == WHEN.timestamp()
    assert found["tunecheck_link_width_lanes"]['device="0000:24:00.0"'] == 8
    assert found["tunecheck_link_speed_transfers_per_second"]['device="0000:24:00.0"'] == 32e9
    assert 'device="0000:63:00.0"' not in found["tunecheck_link_width_lanes"], "unknown has no sample"
    assert found["tunecheck_acs_redirects"]['device="0000:02:00.0"'] == 1
    assert found["tunecheck_pairs"] == {'relation="NODE"': 8, 'relation="PIX"': 4, 'relation="SYS"': 16}
    assert sum(found["tunecheck_finding"].values()) == sum(found["tunecheck_findings"].values())


def test_the_boot_id_itself_is_not_told() -> None:
    run = wrong()
    assert run.document["boot_id"] not in prometheus(run)


def test_every_metric_is_documented_and_no_other() -> None:
    page = (_ROOT / "docs/metrics.md").read_text()
    table = dict(re.findall(r"^\| `(tunecheck_[a-z0-9_]+)` \| ([^|]*)\|", page, re.MULTILINE))
    assert set(table) == set(METRICS) | set(FLEET), "those of an audit are held in tests/unit/fleet"
    emitted = _parsed(prometheus(trialled(8)))
    assert set(emitted) == set(METRICS)
    for name, samples in emitted.items():
        labels = {label for sample in samples for label in re.findall(r'(?:^|,)([a-z_]+)="', sample)}
        assert labels == set(re.findall(r"`([a-z_]+)`", table[name])), name
    assert set(re.findall(r"tunecheck_[a-z0-9_]+", page)) <= set(METRICS) | set(FLEET)


def test_metrics_tell_what_was_measured() -> None:
    found = _parsed(prometheus(trialled(4, "p2p", notes={"chosen": [0, 1, 2, 3]})))
    rates = found["tunecheck_p2p_bandwidth_bytes_per_second"]
    assert rates['source="0000:24:00.0",destination="0000:23:00.0",way="one"'] == 22.1e9
    assert rates['source="0000:03:00.0",destination="0000:04:00.0",way="both"'] == 107e9
    assert len(rates) == 12 + 6
    assert found["tunecheck_p2p_latency_seconds"]['source="0000:04:00.0",destination="0000:03:00.0"'] == 790e-9
    times = found["tunecheck_allreduce_seconds"]
    assert times['ranks="2",size="8192",by="own",percentile="99"'] == pytest.approx(4.48e-6)
    assert times['ranks="4",size="65536",by="nccl staged",percentile="50"'] == pytest.approx(15e-6)
    assert len(times) == 2 * 2 * 3 * 2, "ranks x sizes x who x percentiles"
    assert found["tunecheck_allreduce_soak_steps"] == {'ranks="4"': 60000}
    assert found["tunecheck_trial_hung"] == {"": 0}


def test_a_hang_is_told_and_no_trial_is_no_sample() -> None:
    hung = trialled(2, "allreduce", only=True, hangs=[{"trial": "allreduce", "ranks": 2}])
    assert _parsed(prometheus(hung))["tunecheck_trial_hung"] == {"": 1}
    none = judged(switches(2), "p2p", spec(2), measured({"only": True}, 2))[1]
    assert not [name for name in _parsed(prometheus(none)) if "p2p" in name or "trial" in name]
    assert "tunecheck_trial_hung" not in prometheus(wrong())


def test_series_of_figures_are_bounded_and_the_slowest_are_kept() -> None:
    run = judged(switches(40), "p2p", spec(40), measured({"figures": {"one way 7-5": 12.0}}, 40))[1]
    found = _parsed(prometheus(run))
    assert len(found["tunecheck_p2p_bandwidth_bytes_per_second"]) == 1000 + 780
    assert min(found["tunecheck_p2p_bandwidth_bytes_per_second"].values()) == 12e9
    assert len(found["tunecheck_p2p_latency_seconds"]) == 1000


def test_series_are_bounded() -> None:
    many = [Finding("xid", "any-code", f"subject {index}", "fail" if index > 4000 else "pass", "effective", "x")
            for index in range(5000)]
    found = _parsed(prometheus(_one(*many)))
    assert len(found["tunecheck_finding"]) == 1000
    assert found["tunecheck_findings_omitted"][""] == 4000
    assert sum('outcome="fail"' in labels for labels in found["tunecheck_finding"]) == 999, "the worst are kept"
    assert len(prometheus(judged(switches(200), "topo", spec(200))[1]).splitlines()) < 5000


def test_metrics_of_a_hostile_host() -> None:
    text = prometheus(hostile())
    _parsed(text)
    assert not set(text) & {"\x1b", "\x00"}


@settings(deadline=None)
@given(st.lists(_ANY, max_size=4))
def test_metrics_of_anything_keep_the_format(findings: list[Finding]) -> None:
    _parsed(prometheus(_one(*findings)))


def test_promtool_agrees() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool here (Debian: prometheus)")
    for run in (wrong(), hostile(), trialled(4)):
        done = subprocess.run([promtool, "check", "metrics"], input=prometheus(run), text=True, capture_output=True,
                              timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- HTML (the rest needs a browser: tests/web) ---------------------------------------------------------------------

@pytest.mark.parametrize("run", [wrong(), hostile(), trialled(4)], ids=["wrong", "hostile", "trialled"])
def test_the_policy_allows_exactly_what_is_in_the_page(run: Run) -> None:
    page = html(run)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy and policy.group(1).startswith("default-src &#39;none&#39;;")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy.group(1)
    assert "http://" not in re.sub(r"(?s)<(style|script)>.*?</\1>", "", page).replace("http://198.51.100.1", "")
    assert not re.search(r"\son[a-z]+=\"|\sstyle=\"|<img|<link(?! rel=\"icon\" href=\"data:,\")", page)


@settings(deadline=None, max_examples=20)
@given(st.lists(_ANY, max_size=4))
def test_pages_of_anything_can_be_written(findings: list[Finding]) -> None:
    page = html(dataclasses.replace(_one(*findings), source="\ud800"))
    json.loads(re.findall(r'<script type="application/json" id="page">(.*?)</script>', page)[0])


# ---- where they go --------------------------------------------------------------------------------------------------

def test_metrics_are_readable_for_everybody_and_replaced_in_one_step(tmp_path: Path) -> None:
    target = tmp_path / "tunecheck.prom"
    target.write_text("old")
    target.chmod(0o600)
    before, old = target.stat().st_ino, os.umask(0o077)
    try:
        notes = write_outputs({"prometheus": str(target), "html": str(tmp_path / "r.html"), "json": "-"}, wrong())
    finally:
        os.umask(old)
    assert notes == [f"Prometheus: {target}", f"HTML: {tmp_path}/r.html"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert target.stat().st_ino != before
    assert stat.S_IMODE((tmp_path / "r.html").stat().st_mode) == 0o600, "everything else as the umask says"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "tunecheck.prom"]


@pytest.mark.parametrize(("wanted", "flaw", "names"), [
    ({"json": "-", "junit": "-"}, Misuse.DOES_NOT_BELONG, ("--json", "--junit")),
    ({"json": "{}/x", "html": "{}/./x"}, Misuse.DOES_NOT_BELONG, ("--json", "--html", "{}/./x")),
    ({"prometheus": "{}/x.txt"}, Misuse.MALFORMED, ("{}/x.txt", "{}/x.txt.prom")),
    ({"html": "{}/none/x.html"}, Misuse.NOT_THERE, ("{}/none/x.html", "{}/none")),
    ({"junit": "{}"}, Misuse.ALREADY, ("{}",)),
])
def test_places_are_refused_before_the_probing(tmp_path: Path, wanted: dict[str, str], flaw: Misuse,
                                               names: tuple[str, ...]) -> None:
    with refused(flaw, *(name.format(tmp_path) for name in names)):
        check_outputs({kind: place.format(tmp_path) for kind, place in wanted.items()})


def test_several_at_once_from_the_command_line(tmp_path: Path) -> None:
    files = {kind: tmp_path / name for kind, name in {
        "json": "r.json", "junit": "r.xml", "prometheus": "r.prom", "html": "r.html"}.items()}
    options = [text for kind, path in files.items() for text in (f"--{kind}", str(path))]
    env = {**os.environ, "PYTHONPATH": str(_ROOT / "checks")}
    command = [sys.executable, "-m", "tunecheck", "topo"]       # of this machine, whatever it is
    done = subprocess.run([*command, *options], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.stdout.endswith(f"JSON: {files['json']}\nJUnit: {files['junit']}\nPrometheus: {files['prometheus']}\n"
                                f"HTML: {files['html']}\n")
    assert 'source="live"' in files["prometheus"].read_text()
    alone = subprocess.run([*command, "--junit", "-"], env=env, capture_output=True, text=True, timeout=60, check=False)
    ElementTree.fromstring(alone.stdout)
