"""What a check says of a machine: every case is one small file, cases/<family>/<check>-<what>.yml.

machine:   switch (two GPUs behind one switch; the default), cascaded, direct, numa (two sockets), flat (a VM);
           pairs (eight GPUs behind four switches of two sockets), quads (behind two switches of one socket), strays
           (four, three, and one on a root port); clear (switch without ACS redirect: the default with measured), one,
           four, eight (GPUs behind one such)
log:       the kernel log; {no permission: true}: it cannot be read; left out: a healthy one
files:     {path: content} on top of a healthy machine; null: not present; {reason: no permission}: not readable
config:    {"address": {mps: 128, aspm: 2, ctl: 0, ...}}: its configuration space, as in trees.config()
lists:     {directory: [names]}, with null and {reason: ...} as above
realpaths: {path: resolved path}, with null and {reason: ...} as above
runs:      {"command with arguments": {returncode: 0, stdout: text, stderr: text} or text or {reason: ...}}
nvml:      {gpu index: {key: value}} on top of two healthy GPUs, null: not listed; a key's {error: NAME}; errors:
           {gpus: text}: of the whole answer; {reason: ...}: no NVML at all
doubts:    {path: why}: what an import says is only a part
pairs:     {"0-1": {p2p_read: 1}}: of the NVML document, ordered
posts:     {kind: text}: outputs of tools, as an import holds them (kinds: host/imported/posts.py)
running:   words on the running command line
driver:    {}: a healthy NVIDIA driver 595.71.05 is loaded; packages, tasks, units: what dpkg-query, ps and the grep for
           environment variables print instead (as under runs)
nvidia:    false: stand-ins that are not NVIDIA's
spec:      {part: {field: value}} as in spec.json; without: two GPUs, PIX, ACS redirect off. {none: true}: no spec
before:    {files: ..., nvml: ...}: the same machine earlier, with these differences
measured:  what a trial found, on top of healthy figures for the machine's GPUs (measurements.py):
           figures: {one way 0-1: 41.2, both ways 0-1: .., kernel write 0-1: .., latency 0-1: .., ping-pong 0-1: ..,
           control 0-1: .., flows ring: .., own 2 8192: [3.5, 4.4], nccl 2 8192: .., nccl staged 2 8192: ..,
           bus 2 268435456: .., soak 2: ..} as a number, [median, p99], or null: not measured; only: true: no others;
           wrong: [{trial: integrity, way: engine write, a: 0, b: 1, size: .., words: .., offset: ..}];
           hangs: [{trial: p2p, phase: measure, aftermath: wedged, culprits: [..], arm: staged, ranks: 2}];
           unverified: [1]: GPUs whose own figures (host to device 0: 55.6, device to host 0: .., own memory 0: 800)
           are of wrong data; unchecked: [0]: GPUs whose data to their peers nobody checked; failures: {p2p: text};
           notes: {no_access: [[0, 1]], nccl missing: text}; null: no trial ran
verb:      topo, host, preflight (the default), p2p or allreduce (the default with measured: what its id begins with)
find:      the findings of the check, in order: {outcome, code}, and where it matters observed, and texts that stand
           in its evidence. What it says in words is in wording.txt (test_wording.py)
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.measurements import measured

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yml"))
KEYS = {"machine", "log", "files", "config", "lists", "realpaths", "runs", "nvml", "pairs", "running", "driver",
        "nvidia", "spec", "before", "measured", "posts", "doubts", "verb", "find"}


#: libyaml's, where it was built in: the same values in a sixth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def check_of(path: Path) -> str:
    stem = path.stem
    return max((check.id for check in CHECKS if stem.startswith(f"{check.id}-")), key=len)


def read(path: Path) -> dict[str, Any]:
    """A case file, as it is written."""
    data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
    return data


@cache
def case_of(path: Path) -> tuple[dict[str, Any], Case, str]:
    """A case file: its data, what it is judged by, and the verb. Many tests go through all of them, so each is made
    once for all of a run: do not change it."""
    data = read(path)
    if "measured" in data:
        data = {"machine": "clear", "verb": "allreduce" if path.stem.startswith("allreduce") else "p2p", **data}
    verb, frozen = data.get("verb", "preflight"), spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, verb != "topo")
    before = gather(build({**data, **data["before"]}), frozen.spec if frozen else None, verb != "topo") \
        if "before" in data else None
    found = measured(data["measured"], len(snapshot.topology.devices)) if data.get("measured") is not None else None
    return data, Case(snapshot, frozen, False, before, found), verb


@cache
def findings_of(path: Path) -> tuple[Finding, ...]:
    """What its verb finds in a case file; once for all tests of a run."""
    _, case, verb = case_of(path)
    return tuple(judge(case, verb))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    data, _, _ = case_of(path)
    assert set(data) <= KEYS, "an unknown key would test nothing"
    findings = [finding for finding in findings_of(path) if finding.id == check_of(path)]
    assert [finding.outcome for finding in findings] == [want["outcome"] for want in data["find"]], [
        finding.message for finding in findings]
    for finding, want in zip(findings, data["find"], strict=True):
        assert set(want) <= {"outcome", "code", "observed", "evidence"} and "code" in want
        assert finding.code == want["code"]
        assert finding.observed == want.get("observed", finding.observed)
        for text in want.get("evidence", []):
            assert text in " ".join(finding.evidence)


def test_every_check_has_a_case() -> None:
    """The older checks have tests of their own under rules/ instead."""
    tested = {check_of(path) for path in CASES}
    own = "".join(path.read_text() for path in (Path(__file__).parents[1] / "rules").glob("test_*.py"))
    assert [check.id for check in CHECKS if check.id not in tested and f'"{check.id}"' not in own
            and f"{check.module}.judge" not in own and f"import {check.module}" not in own] == []
