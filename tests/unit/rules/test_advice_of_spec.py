"""No advice asks the operator to give the specification a value that it has, or to take a word out of it that it does
not hold: what each case's check says, under its own specification and under others."""

from __future__ import annotations

import dataclasses
import re
from functools import reduce
from pathlib import Path

import pytest
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.test_cases import CASES, check_of, read

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules.context import Case
from tunecheck.rules.index import BY_ID
from tunecheck.spec.frozen import Frozen, Spec, declared_tokens

_SET = re.compile(r'set box_spec\.([a-z_.]+): "?([\w-]+)"?')
_TAKE = re.compile(r"take ([^;`]*?) out of (box_spec\.kernel\.cmdline|GRUB_CMDLINE_LINUX_DEFAULT)")
_OFF = ("amd_iommu=off", "iommu=off")
#: Cases whose advice speaks of the specification, by one run over all of them (the test below fails without any).
_ADVISED = [path for path in CASES if check_of(path) in (
    "acs-redirect", "acs-persistence", "iommu-trap", "iommu-mode", "cpu-lost", "kernel-lockdown", "dgx-os")]


def _specs(own: Spec) -> list[Spec]:
    kernel = dataclasses.replace(own.kernel, cmdline=_OFF)
    return [own, *(dataclasses.replace(own, iommu=iommu, kernel=words)
                   for iommu in ("pt", "off", "leave") for words in (own.kernel, kernel)),
            *(dataclasses.replace(own, acs=dataclasses.replace(own.acs, mechanism=mechanism, peer_redirect=redirect))
              for mechanism in ("setpci", "disable_acs_redir") for redirect in ("off", "leave"))]


def _wrong(spec: Spec, finding: Finding) -> list[str]:
    text = finding.remedy.text if finding.remedy else ""
    wrong = [found[0] for found in _SET.finditer(text)
             if str(reduce(getattr, found[1].split("."), spec)) == found[2]]
    for found in _TAKE.finditer(text):
        words = set(found[1].split())
        held = set(spec.kernel.cmdline)
        wrong += [found[0]] if found[2].startswith("box_spec") and not words <= held else []
        wrong += [found[0]] if "it was not tunecheck that put " in text[found.end():found.end() + 80] and \
            words & set(declared_tokens(spec)) else []
    return wrong


@pytest.mark.parametrize("path", _ADVISED, ids=lambda path: path.stem)
def test_no_advice_asks_for_what_the_specification_says(path: Path) -> None:
    data = read(path)
    own = spec_of(data)
    for spec in _specs(own.spec if own else spec_of({**data, "spec": {}}).spec):  # type: ignore[union-attr]
        frozen = Frozen("gpu7", "lab", spec, {})
        snapshot = gather(build(data), spec, data.get("verb", "preflight") != "topo")
        for finding in BY_ID[check_of(path)].judge(Case(snapshot, frozen, False, None, None)):
            assert not _wrong(spec, finding), (spec.iommu, spec.kernel.cmdline, spec.acs, finding.message)


def test_the_cases_reach_such_advice() -> None:
    reached = set()
    for path in _ADVISED:
        data = read(path)
        spec = (spec_of({**data, "spec": {}}) or pytest.fail("no specification")).spec
        snapshot = gather(build(data), spec, data.get("verb", "preflight") != "topo")
        for finding in BY_ID[check_of(path)].judge(Case(snapshot, Frozen("gpu7", "lab", spec, {}), False, None, None)):
            text = finding.remedy.text if finding.remedy else ""
            reached |= {found[0].split(":")[0] for found in (*_SET.finditer(text), *_TAKE.finditer(text))}
    assert any("iommu" in each for each in reached) and len(reached) > 1, reached
