"""Checks of IOMMU, modules, CPU and driver; what a trial judges; the verdict over all."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.facts.trees import PCI, Machine, driver, frozen, full, switch
from tests.unit.rules.judging import judged, outcomes

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding, worst
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Cpu, Driver

_PT = frozen(iommu="pt")


def _grouped(kind: str | None) -> Machine:
    machine = full(switch(), "iommu=pt")
    for number, bdf in enumerate(("0000:03:00.0", "0000:04:00.0") if kind else ()):
        machine.realpaths[f"{PCI}/{bdf}/iommu_group"] = f"/sys/kernel/iommu_groups/{number}"
        machine.file(f"/sys/kernel/iommu_groups/{number}/type", f"{kind}\n")
    return machine


@pytest.mark.parametrize(("wanted", "kind", "outcome"), [
    ("pt", "identity", "pass"), ("pt", "DMA-FQ", "fail"), ("pt", "DMA", "fail"), ("pt", None, "warn"),
    ("off", None, "pass"), ("off", "identity", "fail"), ("translated", "DMA", "pass"), ("translated", None, "fail"),
    ("leave", "DMA-FQ", "warn"), ("leave", "identity", "skip"), ("pt", "weird", "unknown")])
def test_iommu_mode(wanted: str, kind: str | None, outcome: str) -> None:
    assert outcomes(judged(_grouped(kind), "iommu-mode", frozen(iommu=wanted), "host")) == [outcome]


def _module(live: str | None, conf: str | None, installed: bool = True) -> Machine:
    machine = full(switch())
    if conf is not None:
        machine.lists["/etc/modprobe.d"] = ["zz-tunecheck.conf"]
        machine.file("/etc/modprobe.d/zz-tunecheck.conf", f"options nvidia-uvm uvm_disable_hmm={conf}\n")
    if installed:
        machine.file("/lib/modules/6.12.1/modules.dep", "updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst\n")
    if live is not None:
        machine.lists["/sys/module/nvidia_uvm"] = ["parameters"]
        machine.file("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", f"{live}\n")
    return machine


@pytest.mark.parametrize(("machine", "outcome", "layer", "code"), [
    (_module("Y", "1"), "pass", "effective", "ok"),
    (_module("N", "1"), "fail", "effective", "older-value"),
    (_module("N", None), "fail", "effective", "other-value"),
    (_module("Y", "0"), "fail", "configured", "next-load-differs"),
    (_module("Y", None), "pass", "effective", "ok"),
    (_module(None, "1"), "unknown", "effective", "no-driver"),
    (driver(_module(None, "1")), "skip", "effective", "not-loaded"),
    (_module(None, None), "fail", "configured", "not-set"),
    (_module(None, "0"), "fail", "configured", "not-set"),
    (_module(None, None, installed=False), "unknown", "effective", "no-driver"),
    (driver(_module(None, None, installed=False)), "skip", "effective", "module-not-installed"),
])
def test_module_parameter(machine: Machine, outcome: str, layer: str, code: str) -> None:
    spec = frozen(modules={"nvidia-uvm": {"uvm_disable_hmm": 1}})
    (finding,) = judged(machine, "module-parameter", spec, "host")
    assert (finding.outcome, finding.layer, finding.code) == (outcome, layer, code)


@pytest.mark.parametrize(("conf", "rides", "code"), [
    ("0", " nvidia_uvm.uvm_disable_hmm=1", "trial-not-committed"), (None, " nvidia_uvm.uvm_disable_hmm=1",
                                                                    "trial-not-committed"),
    ("0", "", "trial-not-committed"), (None, "", "ok"), ("1", " nvidia_uvm.uvm_disable_hmm=1", "ok")])
def test_a_trial_that_is_not_committed_has_a_parameter_from_its_command_line(
        conf: str | None, rides: str, code: str) -> None:
    machine = _module("Y", conf).file(
        "/proc/cmdline", f"root=/dev/vda3 ro tunecheck.trial=3f2a9c01b7de{rides} tunecheck.confirm=1200\n")
    spec = frozen(modules={"nvidia-uvm": {"uvm_disable_hmm": 1}})
    (finding,) = judged(machine, "module-parameter", spec, "host")
    assert (finding.outcome, finding.code) == ("unknown" if code != "ok" else "pass", code)
    assert outcomes(judged(machine, "module-parameter", spec, "host", trial=True)) == ["pass"]


def test_a_parameter_that_the_loaded_module_lacks_is_unknown() -> None:
    machine = _module("Y", "1").gone("read", "/sys/module/nvidia_uvm/parameters/uvm_disable_hmn")
    spec = frozen(modules={"nvidia-uvm": {"uvm_disable_hmn": 1}})
    (finding,) = judged(machine, "module-parameter", spec, "host")
    assert (finding.outcome, finding.code) == ("unknown", "no-such-parameter")


def _cpu(*governors: str, **extra: Any) -> Machine:
    machine = full(switch())
    folder = "/sys/devices/system/cpu/cpufreq"
    machine.lists[folder] = [f"policy{number}" for number in range(len(governors))]
    for number, governor in enumerate(governors):
        machine.file(f"{folder}/policy{number}/scaling_governor", governor)
        machine.file(f"{folder}/policy{number}/scaling_driver", "intel_pstate")
        if "epp" in extra:
            machine.file(f"{folder}/policy{number}/energy_performance_preference", extra["epp"])
        else:
            machine.gone("read", f"{folder}/policy{number}/energy_performance_preference")
    return machine


@pytest.mark.parametrize(("machine", "expected"), [
    (_cpu("performance", "performance", epp="performance"), ["pass", "pass"]),
    (_cpu("performance", "powersave", epp="balance_power"), ["fail", "fail"]),
    (_cpu("performance"), ["pass", "skip"]),
    (full(switch()), ["skip"]),
])
def test_cpu_governor(machine: Machine, expected: list[str]) -> None:
    spec = frozen(cpu=Cpu(governor="performance", epp="performance"))
    assert outcomes(judged(machine, "cpu-governor", spec, "host")) == expected


def test_no_cpufreq_is_a_skip_with_that_reason() -> None:
    (finding,) = judged(full(switch()), "cpu-governor", frozen(cpu=Cpu(governor="performance")), "host")
    assert (finding.outcome, finding.code) == ("skip", "no-policy")


@pytest.mark.parametrize(("wanted", "loaded", "outcome"), [
    (None, None, "skip"), ("595.71.05", "595.71.05", "pass"), ("595.71.05", "580.95.05", "fail"),
    ("595.71.05", None, "fail")])
def test_driver_version(wanted: str | None, loaded: str | None, outcome: str) -> None:
    machine = full(switch())
    if loaded:
        machine.file("/sys/module/nvidia/version", f"{loaded}\n")
        machine.file("/proc/driver/nvidia/version",
                     f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {loaded}  Release Build\n")
    (finding,) = judged(machine, "driver-version", frozen(driver=Driver(version=wanted)), "host")
    assert finding.outcome == outcome
    if loaded:
        assert "flavour open" in finding.evidence


def test_a_trial_judges_only_what_a_boot_can_prove() -> None:
    case = Case(gather(full(switch(0)).host(), _PT.spec, True), _PT, trial=True)
    assert {finding.id for finding in judge(case, "host")} == {
        "accelerator-count", "acs-redirect", "cmdline-token", "cmdline-rejected", "iommu-mode", "module-parameter"}


@pytest.mark.parametrize(("outcomes", "expected"), [
    (["pass", "fail", "unknown"], "fail"), (["pass", "warn", "unknown"], "unknown"), (["skip", "pass", "warn"], "warn"),
    (["skip", "pass"], "pass"), (["skip"], "unknown"), ([], "unknown")])
def test_worst(outcomes: list[str], expected: str) -> None:
    assert worst(Finding("x", "x", "x", outcome, "effective", "x") for outcome in outcomes) == expected
