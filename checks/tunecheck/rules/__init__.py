"""Judge only: pure functions from facts and desired state to findings, one small file per check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from . import (
    accelerator_count,
    acs_persistence,
    acs_redirect,
    cmdline_conflict,
    cmdline_rejected,
    cmdline_token,
    cpu_governor,
    driver_version,
    iommu_mode,
    link_width,
    module_parameter,
    topo_agreement,
    topo_relation,
)
from .finding import Case, Finding, Remedy, Rule, exit_code, worst

__all__ = ["RULES", "Case", "Finding", "Remedy", "Rule", "exit_code", "judge", "worst"]


def _later(check: str) -> Callable[[Case], Iterable[Finding]]:
    """The check's function, imported when it is first asked to judge: `tunecheck topo` does not pay for the others."""

    def judge(case: Case) -> Iterable[Finding]:
        module = import_module(f".{check.replace('-', '_')}", __name__)
        found: Iterable[Finding] = module.judge(case)
        return found

    return judge


_EVERY = ("topo", "host", "preflight")
_TOPO = ("topo", "preflight")

#: In the order of a report: what is there, how it hangs together, what is set, what it does.
RULES = (
    Rule("spec-present", "there is a desired state to judge against", _later("spec-present"), _EVERY),
    Rule("accelerator-count", "as many accelerators as declared, each answering", accelerator_count.judge, _EVERY,
         in_trial=True),
    Rule("topo-relation", "every pair of accelerators is as close as declared", topo_relation.judge, _TOPO),
    Rule("topo-agreement", "PCI tree, NVML and nvidia-smi tell the same relations", topo_agreement.judge, _TOPO),
    Rule("p2p-capability", "the driver lets every GPU reach every other's memory", _later("p2p-capability"), _TOPO),
    Rule("nvml-answers", "the driver's library answers for every GPU", _later("nvml-answers"), _EVERY),
    Rule("link-width", "declared lanes at the accelerator and every hop above it", link_width.judge, _TOPO),
    Rule("acs-redirect", "no port between two accelerators redirects their traffic", acs_redirect.judge, _EVERY,
         in_trial=True),
    Rule("acs-persistence", "the redirect bits stay clear after resets and reboots", acs_persistence.judge),
    Rule("cmdline-token", "every declared kernel parameter is set, generated and running", cmdline_token.judge,
         in_trial=True),
    Rule("cmdline-rejected", "the kernel took every declared parameter", cmdline_rejected.judge, in_trial=True),
    Rule("cmdline-conflict", "nothing on the command line takes a declared parameter back", cmdline_conflict.judge),
    Rule("iommu-mode", "the accelerators' IOMMU groups are in the declared mode", iommu_mode.judge, in_trial=True),
    Rule("module-parameter", "declared module parameters are live", module_parameter.judge, in_trial=True),
    Rule("cpu-governor", "every CPU has the declared governor", cpu_governor.judge),
    Rule("driver-version", "the loaded driver is the declared one", driver_version.judge),
    Rule("xid", "no Xid since boot; each with NVIDIA's recommended action", _later("xid")),
    Rule("gpu-fallen-off", "no GPU fell off the bus, in operation or at probe", _later("gpu-fallen-off")),
    Rule("aer-events", "no PCIe error since boot", _later("aer-events")),
    Rule("aer-ownership", "the kernel, not the firmware, handles PCIe errors", _later("aer-ownership")),
    Rule("hung-task", "no task hung in the kernel or in the NVIDIA driver", _later("hung-task")),
    Rule("kernel-log-complete", "the kernel log holds this whole boot", _later("kernel-log-complete")),
    Rule("kernel-taint", "the kernel has not marked itself as damaged", _later("kernel-taint")),
    Rule("kernel-pending", "the next boot starts the running kernel", _later("kernel-pending")),
    Rule("clocksource", "the kernel reads the time from the CPU's own counter", _later("clocksource")),
)


def judge(case: Case, verb: str) -> list[Finding]:
    """Every finding of a verb ("topo", "host", "preflight"), in the order of RULES."""
    chosen = [rule for rule in RULES if verb in rule.verbs and (rule.in_trial or not case.trial)]
    return [finding for rule in chosen for finding in rule.judge(case)]
