"""Every check that asks for another kernel command line gives a box one instruction: the same words to take off, and
one play with all tags that it needs."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.rules.judging import judged

from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.spec.frozen import Acs, Kernel

_CHECKS = ("cmdline-conflict", "cmdline-token")
_RUNNING = ("", "iommu=off", "amd_iommu=off", "amd_iommu=off iommu=off", "iommu=off,pt", "pci=nocrs",
            "pci=nocrs iommu=off", "iommu=nopt", "pcie_aspm=off amd_iommu=off")
_DECLARED = ((), ("pci=use_crs",), ("pcie_port_pm=off", "pci=use_crs"))


def _same(findings: list[Finding]) -> None:
    fixes = {each.remedy.by_play.text for each in findings
             if each.id in _CHECKS and each.outcome in ("fail", "warn") and each.remedy and each.remedy.play}
    assert len(fixes) < 2, fixes
    for each in findings:
        if each.remedy is not None and each.remedy.play is not None:
            play = each.remedy.by_play
            assert all(command.shown in play.text for command in play.commands)
            assert ("sudo " in play.text) == any(command.argv[0] == "sudo" for command in play.commands)


@pytest.mark.parametrize(("running", "declared"), [*itertools.product(_RUNNING, _DECLARED)])
@pytest.mark.parametrize("redirect", ["off", "leave"])
def test_two_checks_ask_for_the_same(running: str, declared: tuple[str, ...], redirect: str) -> None:
    spec = frozen(iommu="pt", kernel=Kernel(cmdline=declared), acs=Acs(peer_redirect=redirect))
    _same([each for check in _CHECKS for each in judged(full(switch(), running), check, spec, "host")])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_so_they_do_on_every_box(path: Path) -> None:
    _, case, verb = case_of(path)
    _same([each for each in judge(case, verb) if each.id in _CHECKS])


def test_the_play_has_all_tags() -> None:
    (off, *_) = judged(full(switch(), "amd_iommu=off iommu=off"), "cmdline-conflict", frozen(iommu="pt"), "host")
    assert off.remedy is not None
    assert off.remedy.text.startswith("remove amd_iommu=off and iommu=off from the boot configuration that sets them ")
    assert off.remedy.text.count("ansible-playbook") == 1 and "--tags acs,cmdline -l " in off.remedy.text
