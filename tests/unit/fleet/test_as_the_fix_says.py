"""A change that is what the fix of an open finding says, word by word, or that brings back what a check missed, is not
to be put back; and what came is never called lost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN
from tests.unit.fleet.rows import move, view

from tunecheck.report.style import Style
from tunecheck.rules.index import BY_ID, CHECKS
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.view import View
from tunecheck_fleet.judge.view_rows import FixSpan, Meta
from tunecheck_fleet.outputs.terminal import terminal

_BACK = "to put it back"
_PUTS, _TAKES = ("iommu=pt", "pci=disable_acs_redir=pci:0:0"), ("amd_iommu=off", "iommu=off")


def _changed(fact: str, before: Any, value: Any, *spans: FixSpan, seen: int = 5) -> View:
    changed = (move("r2", fact, before, value, seen),)
    return view({"r2": {}}, moves=changed if seen == 5 else (), unapproved=changed if seen < 5 else (), fixes=spans,
                meta={fact: Meta(severity="high", fix="reboot")})


def _span(check: str = "acs-redirect", code: str = "redirects", puts: tuple[str, ...] = _PUTS,
          takes: tuple[str, ...] = _TAKES, seen: int = 1, until: int | None = 5, host: str = "r2") -> FixSpan:
    return FixSpan(host, check, code, puts, takes, seen, until)


def _said(seen: View) -> FleetReport:
    return judge(seen, JudgeOptions())[0]


def _told(seen: View, width: int = 0) -> str:
    return " ".join(terminal(_said(seen), Style(width), verbose=True, now=WHEN).split())


@pytest.mark.parametrize(("fact", "before", "value"), [
    ("kernel.cmdline.pci", None, ["disable_acs_redir=pci:0:0"]),
    ("kernel.cmdline.pci", ["noacs"], ["disable_acs_redir=pci:0:0", "noacs"]),
    ("kernel.cmdline.iommu", "off", "pt"),
    ("kernel.cmdline.amd_iommu", "off", None),
    ("boot.configured", ["iommu=off", "quiet"], ["quiet", "iommu=pt"]),
])
@pytest.mark.parametrize("until", [None, 0])
@pytest.mark.parametrize("seen", [5, 3])
def test_what_a_fix_names_is_not_to_be_put_back(fact: str, before: Any, value: Any, until: int | None,
                                                seen: int) -> None:
    told = _changed(fact, before, value, _span(until=None if until is None else seen), seen=seen)
    (cause,) = _said(told).causes
    assert (cause.severity, cause.asked, cause.asked_by) == ("low", ("r2",), ("acs-redirect",))
    for width in (0, 200):
        text = _told(told, width)
        assert "changed as the fix of acs-redirect says" in text and f"tunecheck approve {cause.id}" in text
        assert _BACK not in text


@pytest.mark.parametrize("told", [
    _changed("kernel.cmdline.pci", None, ["disable_acs_redir=pci:0:0"]),
    _changed("kernel.cmdline.pci", None, ["noaer"], _span()),
    _changed("kernel.cmdline.pci", None, ["disable_acs_redir=pci:0:0", "noaer"], _span()),
    _changed("kernel.cmdline.pci", ["disable_acs_redir=pci:0:0"], None, _span()),
    _changed("kernel.cmdline.iommu", "pt", "off", _span()),
    _changed("kernel.cmdline.mitigations", "off", None, _span()),
    _changed("kernel.cmdline.iommu", "off", "pt", _span(until=4)),      # over before
    _changed("kernel.cmdline.iommu", "off", "pt", _span(seen=5, until=None)),
    _changed("kernel.cmdline.iommu", "off", "pt", _span(host="r3")),
])
def test_any_other_change_is(told: View) -> None:
    (cause,) = _said(told).causes
    assert not cause.asked and cause.severity == "high" and _BACK in _told(told)


_COUNTS = [(check.id, code, fact) for check in CHECKS for code in check.misses for fact in check.counts]


@pytest.mark.parametrize(("check", "code", "fact"), _COUNTS, ids=str)
@pytest.mark.parametrize(("before", "value", "right"), [(7, 8, True), (8, 7, False), (None, 8, False)])
def test_more_of_what_a_check_misses_is_what_it_asks_for(check: str, code: str, fact: str, before: Any, value: Any,
                                                         right: bool) -> None:
    told = _changed(fact, before, value, _span(check, code, (), ()))
    (cause,) = _said(told).causes
    assert cause.asked_by == ((check,) if right else ())
    assert right == (_BACK not in _told(told)) or "GPU" in _told(told)
    assert not _said(_changed(fact, before, value)).causes[0].asked


def test_of_each_node_none_is_less() -> None:
    found = _span("cpu-lost", BY_ID["cpu-lost"].misses[0], (), ())
    for before, value, right in (([128, 127], [128, 128], True), ([128, 127], [127, 128], False),
                                 ([128, 127], [128, 127, 1], False), ([128, 127], [128], False)):
        assert bool(_said(_changed("numa.cpus", before, value, found)).causes[0].asked) == right


@pytest.mark.parametrize(("fact", "fewer", "more"), [
    ("cpu.online", 255, 256), ("gpu.count", 7, 8), ("pcie.accelerators", 7, 8), ("platform.memory", 1408, 1536),
    ("numa.cpus", [128, 127], [128, 128]), ("cpu.lost", [239], []),
    ("pcie.answers", {"false": 1, "true": 7}, {"true": 8}),
])
@pytest.mark.parametrize("other", ["numa.cpus", "cpu.online", "pcie.driver", "numa.without_memory", "gpu.nvlinks"])
def test_what_came_is_never_called_lost(fact: str, fewer: Any, more: Any, other: str) -> None:
    pairs = {"numa.cpus": ([128, 127], [128, 128]), "cpu.online": (255, 256),
             "pcie.driver": ({"nvidia": 7}, {"nvidia": 8}), "numa.without_memory": ([1], []),
             "gpu.nvlinks": ({"18": 7}, {"18": 8})} | {fact: (fewer, more)}
    moves = tuple(move("r2", name, before, value) for name, (before, value) in pairs.items() if name in (fact, other))
    told = view({"r2": {}}, moves=moves)
    for entry in entries(_said(told).causes):
        assert "lost" not in entry.what.lower(), (entry.lead.fact, entry.what)
    assert "lost" not in _told(told).lower().replace("cpu.lost", "")
