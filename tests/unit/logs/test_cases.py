"""What a check says of a log or a file: every case is one small file under ``cases/``, named <check>-<what>.yml.

log:     the kernel log; {no permission: true}: it cannot be read; left out: a healthy one
files:   {path: content} on top of a healthy machine with two accelerators behind one switch; null: not present
running: words on the running command line
nvidia:  false: stand-ins that are not NVIDIA's
find:    the findings of the check, in order: outcome, and what the message says
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.facts.trees import PCI, frozen, full, switch
from tests.unit.rules.judging import judged

from tunecheck.rules import RULES
from tunecheck.spec.frozen import Accelerators

CASES = sorted((Path(__file__).parent / "cases").glob("*.yml"))
HEALTHY = "[    0.000000] Linux version 6.12.1\n"


def check_of(path: Path) -> str:
    return max((rule.id for rule in RULES if path.stem.startswith(f"{rule.id}-")), key=len)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(case) <= {"log", "files", "running", "nvidia", "find"}, "an unknown key would test nothing"
    log = case.get("log", HEALTHY)
    machine = full(switch(), case.get("running", ""), log=log if isinstance(log, str) else None)
    for name, content in case.get("files", {}).items():
        if content is None:
            machine.reads.pop(name, None)
            machine.gone("read", name)
        else:
            machine.file(name, content)
    if not case.get("nvidia", True):
        for bdf in ("0000:03:00.0", "0000:04:00.0"):
            machine.file(f"{PCI}/{bdf}/vendor", "0x1234\n").file(f"{PCI}/{bdf}/device", "0x1111\n")
    spec = frozen() if case.get("nvidia", True) else frozen(accelerators=Accelerators(pci_ids=("1234:1111",)))
    findings = judged(machine, check_of(path), spec, "host")
    assert [finding.outcome for finding in findings] == [want["outcome"] for want in case["find"]], [
        finding.message for finding in findings]
    for finding, want in zip(findings, case["find"], strict=True):
        for text in want.get("says", []):
            assert text in finding.message
        for text in want.get("evidence", []):
            assert text in " ".join(finding.evidence)


def test_every_check_of_the_log_has_a_case() -> None:
    ours = {"xid", "gpu-fallen-off", "aer-events", "aer-ownership", "hung-task", "kernel-log-complete", "kernel-taint",
            "kernel-pending", "clocksource"}
    assert {check_of(path) for path in CASES} >= ours
