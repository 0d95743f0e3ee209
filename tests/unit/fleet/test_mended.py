"""A word that a check failed for left the command line: the change is what the specification asks for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN, cause, report, row

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal

_RIGHT, _BACK = "changed to what the specification asks for", "to put it back"


def _over(subject: str, *hosts: str, check: str = "cmdline-conflict") -> Cause:
    return cause(fact=check, subject=subject, outcome="fail", state="resolved", hosts=hosts, before=None, id="80f4f031")


def _changed(fact: str, before: Any, value: Any = None, hosts: tuple[str, ...] = ("r2",)) -> Cause:
    return cause(authority="previous", fact=f"kernel.cmdline.{fact}", before=before, value=value, hosts=hosts,
                 expected="changed", id="cb357793")


def _told(*causes: Cause, verbose: bool = False, width: int = 200) -> str:
    told = report(hosts=(row("r2"), row("r3")), causes=causes)
    return " ".join(terminal(told, Style(width), verbose=verbose, now=WHEN).split())


@pytest.mark.parametrize(("declared", "fact", "before", "value"), [
    ("iommu=pt", "amd_iommu", "off", None),
    ("iommu=pt", "intel_iommu", "off", None),
    ("iommu=pt", "amd_iommu", "fullflush,off", "fullflush"),
    ("pci=use_crs", "pci", ["nocrs"], None),
    ("pci=use_crs", "pci", ["disable_acs_redir=pci:0:0", "nocrs"], ["disable_acs_redir=pci:0:0"]),
    ("pcie_aspm.policy=performance", "pcie_aspm", "off", None),
])
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [0, 80, 200])
def test_what_was_taken_back_is_not_to_be_put_back(declared: str, fact: str, before: Any, value: Any, verbose: bool,
                                                   width: int) -> None:
    causes = _changed(fact, before, value), _over(declared, "r2")
    text = _told(*causes, verbose=verbose, width=width)
    assert _RIGHT in text and _BACK not in text and "tunecheck approve cb357793" in text
    page = html(report(hosts=(row("r2"),), causes=causes))
    assert f"{_RIGHT}; tunecheck approve cb357793" in page


@pytest.mark.parametrize("causes", [
    (_changed("amd_iommu", "off"),),
    (_changed("mitigations", "off"), _over("iommu=pt", "r2")),                  # of the same boot
    (_changed("amd_iommu", "off", "pgtbl_v1"), _over("iommu=pt", "r2")),        # nobody asked for that
    (_changed("amd_iommu", "off,fullflush"), _over("iommu=pt", "r2")),
    (_changed("amd_iommu", None, "off"), _over("iommu=pt", "r2")),
    (_changed("amd_iommu", "off", hosts=("r2", "r3")), _over("iommu=pt", "r2")),
    (_changed("amd_iommu", "off"), _over("iommu=pt", "r2", check="clocksource")),
])
def test_any_other_change_is(causes: tuple[Cause, ...]) -> None:
    text = _told(*causes)
    assert _RIGHT not in text and f"{_BACK}: a reboot" in text
