"""Judge one check on a fake machine."""

from __future__ import annotations

from tests.unit.facts.trees import Machine

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Frozen


def judged(machine: Machine, check: str, spec: Frozen | None = None, verb: str = "preflight",
           trial: bool = False) -> list[Finding]:
    """The findings of one check."""
    snapshot = gather(machine.host(), spec.spec if spec else None, verb != "topo")
    return [finding for finding in judge(Case(snapshot, spec, trial), verb) if finding.id == check]


def outcomes(findings: list[Finding]) -> list[str]:
    return [finding.outcome for finding in findings]
