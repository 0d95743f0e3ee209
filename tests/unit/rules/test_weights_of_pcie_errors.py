"""A fatal PCIe error that weighs less than another error says why: what is behind it, or that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checks.machines import HEALTHY_LOG, build
from tests.unit.imports.test_fragments import findings, snap
from tests.unit.report.all_reports import reports

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_HARD = ("fatal-error", "contained-error", "link-down", "not-recovered")
_REASONS = ("as no accelerator is behind it", "which is not known")
_FATAL = "pcieport 0000:00:1c.0: AER: Uncorrectable (Fatal) error message received from 0000:00:1c.0"


def _of(log: str) -> list[Finding]:
    found = judge(Case(gather(build({"log": log}), None, True), None, False, None, None), "preflight")
    return [each for each in found if each.id == "aer-events"]


def test_a_hard_error_fails_or_says_why_it_does_not() -> None:
    seen = set()
    for report in reports():
        for each in report.findings:
            if each.id == "aer-events" and each.code in _HARD:
                seen.add(each.outcome)
                assert (each.outcome == "fail") != any(reason in each.text for reason in _REASONS), each.text
    assert seen == {"fail", "warn"}


@pytest.mark.parametrize(("port", "outcome"), [("0000:00:1c.0", "warn"), ("0000:00:04.0", "fail")])
def test_what_is_behind_it_decides(port: str, outcome: str) -> None:
    found, = _of(f"{HEALTHY_LOG}[  9.000000] {_FATAL.replace('0000:00:1c.0', port)}\n")
    assert found.outcome == outcome


def test_without_the_devices_they_are_asked_for(tmp_path: Path) -> None:
    (found,) = findings(snap(tmp_path, f"{HEALTHY_LOG}[  9.000000] {_FATAL}\n"), "aer-events")
    assert found.outcome == "warn" and "add: sudo lspci -nnvvv" in found.text
