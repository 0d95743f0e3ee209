"""What a check says of a machine: every case is one small file under ``cases/``, named <check>-<what>.yml.

machine:   switch (two GPUs behind one switch; the default), cascaded, direct, numa (two sockets), flat (a VM)
log:       the kernel log; {no permission: true}: it cannot be read; left out: a healthy one
files:     {path: content} on top of a healthy machine; null: not present; {reason: no permission}: not readable
config:    {"address": {mps: 128, aspm: 2, ctl: 0, ...}}: its configuration space, as in trees.config()
lists:     {directory: [names]}, with null and {reason: ...} as above
realpaths: {path: resolved path}, with null and {reason: ...} as above
runs:      {"command with arguments": {returncode: 0, stdout: text, stderr: text} or text or {reason: ...}}
nvml:      {gpu index: {key: value}} on top of two healthy GPUs; a key's {error: NAME}; {reason: ...}: no NVML at all
pairs:     {"0-1": {p2p_read: 1}}: of the NVML document, ordered
running:   words on the running command line
driver:    {}: a healthy NVIDIA driver 595.71.05 is loaded; packages, tasks, units: what dpkg-query, ps and the grep for
           environment variables print instead (as under runs)
nvidia:    false: stand-ins that are not NVIDIA's
spec:      {part: {field: value}} as in spec.json; without: two GPUs, PIX, ACS redirect off. {none: true}: no spec
before:    {files: ..., nvml: ...}: the same machine earlier, with these differences
verb:      topo, host or preflight (the default)
find:      the findings of the check, in order: outcome, and what the message says (says) or must not say (not)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.checks.machines import build, spec_of

from tunecheck.facts.snapshot import gather
from tunecheck.rules import RULES, Case, judge

CASES = sorted((Path(__file__).parent / "cases").glob("*.yml"))
KEYS = {"machine", "log", "files", "config", "lists", "realpaths", "runs", "nvml", "pairs", "running", "driver",
        "nvidia", "spec", "before", "verb", "find"}


def check_of(path: Path) -> str:
    return max((rule.id for rule in RULES if path.stem.startswith(f"{rule.id}-")), key=len)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(data) <= KEYS, "an unknown key would test nothing"
    verb, frozen = data.get("verb", "preflight"), spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, verb != "topo")
    before = gather(build({**data, **data["before"]}), frozen.spec if frozen else None, verb != "topo") \
        if "before" in data else None
    findings = [finding for finding in judge(Case(snapshot, frozen, False, before), verb)
                if finding.id == check_of(path)]
    assert [finding.outcome for finding in findings] == [want["outcome"] for want in data["find"]], [
        finding.message for finding in findings]
    for finding, want in zip(findings, data["find"], strict=True):
        for text in want.get("says", []):
            assert text in finding.message
        for text in want.get("not", []):
            assert text not in finding.message
        for text in want.get("evidence", []):
            assert text in " ".join(finding.evidence)


def test_every_check_that_is_registered_by_its_name_has_a_case() -> None:
    """The older checks have tests of their own under rules/."""
    tested = {check_of(path) for path in CASES}
    assert [rule.id for rule in RULES if rule.judge.__module__ == "tunecheck.rules" and rule.id not in tested] == []
