"""A prediction never contradicts a failing link of the same report: no way over a link that is slow under load, and no
share of it, is promised more than the link carries then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checks.machines import build
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.deletions import Base

from tunecheck.facts.nvidia.nvml import Gpu, Nvml
from tunecheck.facts.peer_paths import paths
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.parsers.pci.pcie_rate import payload_rate
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_SLOW = re.compile(r"([0-9a-f:.]+(?:-[0-9a-f:.]+)?) at Gen(\d) of Gen(\d)")
_AT_WORK = {"pstate": 0, "utilization_gpu": 100}
_LAYOUTS = ("switch", "cascaded", "direct", "numa", "pairs", "quads", "strays", "clear", "eight")


def _working(snapshot: Snapshot) -> Snapshot:
    """The snapshot of the same machine while all of its GPUs work."""
    told = snapshot.nvml.value
    gpus = told.gpus if told else tuple(Gpu(device.bdf, index, {}, {})
                                        for index, device in enumerate(snapshot.topology.devices))
    at_work = tuple(replace(gpu, values={**gpu.values, **_AT_WORK}) for gpu in gpus)
    known = replace(told, gpus=at_work) if told else Nvml(snapshot.nvml, snapshot.nvml, at_work, {})  # type: ignore[arg-type]
    return replace(snapshot, nvml=replace(snapshot.nvml, value=known, reason=None))


def _contradictions(snapshot: Snapshot) -> tuple[set[str], list[str]]:
    """The links that link-speed fails, and what in the report promises more than they carry."""
    findings = judge(Case(snapshot), "topo")
    failed = [each for each in findings if each.id == "link-speed" and each.code == "slow-under-load"]
    slow = {found[1]: int(found[2]) for each in failed for found in _SLOW.finditer(each.observed)}
    return set(slow), [*_of_paths(snapshot, slow), *_of_uplinks(findings, slow)]


def _of_paths(snapshot: Snapshot, slow: dict[str, int]) -> list[str]:
    return [f"{path.pair.label}: {path.one_way} over {link.name}" for path in paths(snapshot) for link in path.links
            if link.name in slow and path.one_way is not None
            and path.one_way > payload_rate(slow[link.name], link.width or 0, path.mps or 0) + 0.05]


def _of_uplinks(findings: list[Finding], slow: dict[str, int]) -> list[str]:
    return [each.text for each in findings if each.id == "uplink-shared" and each.subject in slow
            and each.outcome != "unknown" and not each.observed.endswith(f"Gen{slow[each.subject]}")]


def _speed(bdf: str) -> str:
    return f"/sys/bus/pci/devices/{bdf}/current_link_speed"


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_every_link_of_a_layout_slow_by_itself(layout: str) -> None:
    links = {link.name: link for way in gather(build({"machine": layout}), None, False).topology.links.values()
             for link in way}
    for name, link in links.items():
        files: dict[str, Any] = {_speed(end.bdf): "8.0 GT/s PCIe\n" for end in link.ends}
        slow, wrong = _contradictions(_working(gather(build({"machine": layout, "files": files}), None, True)))
        assert (slow, wrong) == ({name}, [])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_machine_of_every_case_at_work(path: Path) -> None:
    assert _contradictions(_working(case_of(path)[1].snapshot))[1] == []


@pytest.mark.parametrize("base", own(), ids=lambda base: base.name)
def test_every_fixture_at_work(tmp_path: Path, base: Base) -> None:
    for name, content in base.texts.items():
        (tmp_path / name).write_text(content)
    host = base.answers.host() if base.answers else load_import(str(tmp_path))
    assert _contradictions(_working(gather(host, None, True)))[1] == []


def test_one_gpu_at_work_is_enough_and_the_other_ways_keep_their_prediction() -> None:
    """Of two below one switch one works: what both share is seen under load, the idle GPU's own link is not."""
    slow = "2.5 GT/s PCIe\n"
    links = gather(build({"machine": "pairs"}), None, False).topology.links
    first, second, *_ = links.values()
    files = {_speed(end.bdf): slow for link in (first[0], second[-1]) for end in link.ends}
    snapshot = gather(build({"machine": "pairs", "files": files, "nvml": {0: _AT_WORK}}), None, True)
    below, across, *_ = (path for path in paths(snapshot) if path.pair.a == 0)
    assert (below.slowest and below.slowest.text, across.slowest and across.slowest.name) == ("x16 Gen5", first[0].name)
    shared = [each for each in judge(Case(snapshot), "topo") if each.id == "uplink-shared"]
    assert [(each.outcome, each.observed) for each in shared][:2] == [("warn", "x16 Gen1"), ("pass", "x16 Gen5")]
