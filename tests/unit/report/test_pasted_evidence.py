"""Who pasted a text reads which text a finding rests on, and no path of a machine that nobody looked at."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, findings_of

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.report.document import Run, document
from tunecheck.report.html import html
from tunecheck.report.pasted_evidence import of_texts
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

FIXTURES = Path(__file__).resolve().parents[1] / "imports" / "fixtures"
_NOW = datetime.datetime(2026, 11, 27, tzinfo=datetime.UTC)


def _evidence(page: str) -> list[str]:
    return re.findall(r"<li><code>(.*?)</code></li>", "".join(re.findall(r"<dt>Evidence</dt>.*", page)))


@pytest.mark.parametrize("folder", sorted(path for path in FIXTURES.iterdir() if path.is_dir()), ids=lambda at: at.name)
def test_the_page_of_texts_names_texts(folder: Path) -> None:
    case = Case(gather(load_import(str(folder)), None, True))
    findings = judge(case, "preflight")
    data = document("preflight", case, findings)
    page = html(Run(data, findings, _NOW, str(folder), pasted=True))
    named = _evidence(page)
    assert any(each.startswith("lspci") for each in named), named
    assert [each for each in named if each.startswith(("/sys/bus/pci", "NVML"))] == []
    assert any(each.startswith("/sys/bus/pci") for each in _evidence(html(Run(data, findings, _NOW)))), "of a machine"
    shown = render("preflight", case, findings, Style(80), verbose=True, imported=True)
    missing = [line for line in shown.splitlines() if "/sys/bus/pci/devices/" in line and ": not in the import" in line]
    assert missing == []


def test_what_names_no_file_stays_and_each_text_stands_once() -> None:
    pci = "/sys/bus/pci/devices"
    assert of_texts([f"{pci}/0000:03:00.0/config", f"{pci}/0000:03:00.0/max_link_width", f"{pci}: 0000:03:00.0", pci,
                     "NVML 0000:03:00.0", "/proc/cmdline", "[ 77.0] NVRM: Xid 79", "/sys/devices/system/node/online"]
                    ) == ["lspci, 0000:03:00.0", "lspci: 0000:03:00.0", "lspci", "nvidia-smi -q", "/proc/cmdline",
                          "[ 77.0] NVRM: Xid 79", "numactl -H"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_evidence_of_a_check_is_lost(path: Path) -> None:
    for finding in findings_of(path):
        assert bool(of_texts(finding.evidence)) == bool(finding.evidence)
