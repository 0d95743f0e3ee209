"""Every report has one order: worst first, the cause before what may follow from it, the fix that mends most."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import load

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.document import Run, document
from tunecheck.report.grouping import worst_first
from tunecheck.report.html import html
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

LOST = (
    Finding("xid", "xid-79", "GPU1 0000:04:00.0", "fail", "effective", "Xid 79", remedy=Remedy("reboot")),
    Finding("gpu-fallen-off", "lost", "0000:04:00.0", "fail", "effective", "it is lost", remedy=Remedy("look")),
    Finding("accelerator-count", "does-not-answer", "0000:04:00.0", "fail", "effective", "ff", remedy=Remedy("cycle")),
    Finding("nvml-answers", "gpu-lost", "0000:04:00.0", "fail", "effective", "GPU_IS_LOST", remedy=Remedy("wait")),
    Finding("hung-task", "hung-in-driver", "python3", "fail", "effective", "it hangs", remedy=Remedy("boot")))
BESIDE = (
    Finding("link-width", "narrow", "GPU0", "fail", "effective", "x8 of x16", remedy=Remedy("reseat")),
    Finding("link-speed", "slow", "GPU0", "fail", "effective", "Gen3", remedy=Remedy("reseat")),
    Finding("acs-redirect", "redirects", "0000:02:00.0", "fail", "behaviour", "redirects", remedy=Remedy("play")),
    Finding("acs-persistence", "lost", "0000:02:00.0", "fail", "configured", "lost", remedy=Remedy("play")),
    Finding("iommu-mode", "differs", "GPU0", "fail", "effective", "DMA", remedy=Remedy("word")))


def _shown(tmp_path: Path, findings: list[Finding]) -> dict[str, list[str]]:
    """The ids of what fails, as every report has them from the top."""
    case = Case(gather(load(tmp_path, "00:00.0 Host bridge [0600]: Intel Corporation X [8086:0001]\n"), None, True))
    page = html(Run(document("preflight", case, findings), findings, datetime.datetime.now(datetime.UTC)))
    reports = {f"terminal {width}, verbose {verbose}": re.findall(
        r"(?m)^FAIL +([a-z-]+)", render("preflight", case, findings, Style(width), verbose))
        for width in (0, 60, 80) for verbose in (False, True)}
    reports["page"] = re.findall(r'<details class="finding fail".*?<span class="id">(.*?)</span>', page, re.DOTALL)
    links = re.search(r'<p class="ids fail">(.*?)</p>', page)
    reports["links"] = re.findall(r"#fail-([a-z-]+)", links[1] if links else "")
    return reports


@pytest.mark.parametrize("lost", LOST, ids=lambda each: f"{each.id}/{each.code}")
@pytest.mark.parametrize("at", [0, 2, 5])
def test_a_lost_gpu_stands_before_links_and_acs(tmp_path: Path, lost: Finding, at: int) -> None:
    findings = [*BESIDE[:at], lost, *BESIDE[at:]]
    reports = _shown(tmp_path, findings)
    for name, ids in reports.items():
        assert ids[0] == lost.id, (name, ids)
        assert ids == [each.id for each in worst_first(findings)], name


def test_what_one_fix_mends_stands_in_a_row(tmp_path: Path) -> None:
    found = [BESIDE[4], BESIDE[0], BESIDE[2], BESIDE[1], BESIDE[3]]
    for name, ids in _shown(tmp_path, found).items():
        assert ids == ["link-width", "link-speed", "acs-redirect", "acs-persistence", "iommu-mode"], name


def test_of_a_real_text_the_page_has_the_order_of_the_terminal(tmp_path: Path) -> None:
    bridge = "00:00.0 Host bridge [0600]: Intel Corporation X [8086:0001]\n"
    log = ("[    0.000000] Linux version 6.8.0\n[   77.000001] NVRM: Xid (PCI:0000:34:00): 79, pid=1, name=a, GPU has "
           "fallen off the bus.\n[   78.000000] Out of memory: Killed process 4711 (python3)\n")
    case = Case(gather(load(tmp_path, bridge, log), None, True))
    findings = judge(case, "preflight")
    reports = _shown(tmp_path, findings)
    assert reports["page"][0] == "xid" and all(set(ids) == set(reports["page"]) for ids in reports.values())
    assert [*dict.fromkeys(reports["page"])] == [*dict.fromkeys(reports["terminal 80, verbose True"])]
