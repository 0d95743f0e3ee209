"""Of a value that NVML (nvidia-smi -q) and the PCI tree (lspci) both give, a worse one in either is never lost: the
check fails or warns on it, as it does where that source is given alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.checks.machines import healthy_gpu
from tests.unit.facts.trees import answering, frozen, full, switch

from tunecheck.facts.posted import Posted
from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Frozen

_GPU = "0000:03:00.0"
_PCI = f"/sys/bus/pci/devices/{_GPU}"
_BUSY = {"pstate": 0, "utilization_gpu": 99, "link_gen": 5}
_RANK = {"skip": 0, "pass": 0, "unknown": 1, "warn": 2, "fail": 3}
#: check -> worse values by NVML, the same by the tree, what holds in both cases beside it, the least outcome
_WORSE: dict[str, tuple[str, dict[str, Any], dict[str, str], dict[str, Any], str]] = {
    "lanes": ("link-width", {"link_width": 8}, {"current_link_width": "8\n"}, {}, "fail"),
    "few lanes": ("link-width", {"link_width": 1}, {"current_link_width": "1\n"}, _BUSY, "fail"),
    "speed at work": ("link-speed", {"link_gen": 4}, {"current_link_speed": "16.0 GT/s PCIe\n"}, _BUSY, "fail"),
    "speed that the slot allows": ("link-speed", {"link_gen_max": 4, "link_gen": 4},
                                   {"max_link_speed": "16.0 GT/s PCIe\n", "current_link_speed": "16.0 GT/s PCIe\n"}, {},
                                   "warn"),
}


def _found(check: str, by_nvml: dict[str, Any], by_tree: dict[str, str], spec: Frozen | None = None) -> Finding:
    machine = full(answering(switch(0)))
    assert machine.nvml is not None
    for gpu in machine.nvml["gpus"]:
        gpu["values"] = {**healthy_gpu(), **(by_nvml if gpu["bdf"] == _GPU else {})}
    for name, value in by_tree.items():
        machine.file(f"{_PCI}/{name}", value)
    case = Case(gather(machine.host(), spec.spec if spec else None, True), spec)
    return next(each for each in judge(case, "preflight") if each.id == check and _GPU in each.subject)


@pytest.mark.parametrize("what", _WORSE)
def test_a_worse_value_of_nvml_counts_beside_a_good_tree(what: str) -> None:
    check, worse, _, beside, least = _WORSE[what]
    assert _found(check, beside, {}).outcome in ("pass", "skip")
    found = _found(check, {**beside, **worse}, {})
    assert _RANK[found.outcome] >= _RANK[least], found.text
    assert "NVML" in found.text and "the PCI tree shows" in found.text and found.remedy


@pytest.mark.parametrize("what", [each for each in _WORSE if each != "speed that the slot allows"])
def test_a_worse_value_of_the_tree_counts_beside_a_good_nvml(what: str) -> None:
    check, _, worse, beside, least = _WORSE[what]
    found = _found(check, beside, worse)
    assert _RANK[found.outcome] >= _RANK[least], found.text


@pytest.mark.parametrize(("lanes", "wanted", "outcome"), [(8, 16, "fail"), (8, 8, "pass"), (4, 8, "fail")])
def test_a_declared_width_is_judged_by_both(lanes: int, wanted: int, outcome: str) -> None:
    spec = frozen(accelerators=Accelerators(link_width=wanted))
    found = _found("link-width", {"link_width": lanes}, {}, spec)
    assert found.outcome == outcome


@pytest.mark.parametrize(("nvml", "lspci"), [(131072, 256), (256, 131072)])
def test_the_smaller_bar1_counts(nvml: int, lspci: int) -> None:
    machine = full(answering(switch(0)))
    assert machine.nvml is not None
    for gpu in machine.nvml["gpus"]:
        gpu["values"] = {**healthy_gpu(), "bar1_total_mib": nvml}
    case = Case(gather(machine.host(), None, True), None)
    both = replace(case.snapshot, posted=Posted(bar1={_GPU: lspci}))
    found = [each for each in judge(Case(both, None), "preflight") if each.id == "bar1-size"]
    assert ("fail", "smaller-than-memory") in [(each.outcome, each.code) for each in found], found
