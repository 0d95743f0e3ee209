"""Judge only: pure functions from facts and desired state to findings, one small file per check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
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
    measured_pass,
    module_parameter,
    topo_agreement,
    topo_relation,
)
from .finding import HUNG, ON_ITS_HOST, Case, Finding, Remedy, Rule, exit_code, worst
from .limits import limited

__all__ = ["HUNG", "RULES", "Case", "Finding", "Remedy", "Rule", "exit_code", "judge", "worst"]


def _later(check: str) -> Callable[[Case], Iterable[Finding]]:
    """The check's function, imported when it is first asked to judge: `tunecheck topo` does not pay for the others."""

    @cache
    def function() -> Callable[[Case], Iterable[Finding]]:
        found: Callable[[Case], Iterable[Finding]] = import_module(f".{check.replace('-', '_')}", __name__).judge
        return found

    def judge(case: Case) -> Iterable[Finding]:
        return function()(case)

    return judge


_EVERY = ("topo", "host", "preflight")
_DRIVER = ("host", "preflight", "driver")
_RUNTIME = ("host", "preflight", "runtime")
_ALL = (*_EVERY, "driver", "runtime")
_TOPO = ("topo", "preflight")
_ALONE = ("alone",)
_P2P = ("p2p",)
_REDUCE = ("allreduce",)
_TRIALS = ("p2p", "allreduce")
#: What a trial boot and `preflight --full` judge together.
_MEASURED = (*_ALONE, *_TRIALS)

#: In the order of a report: what is there, how it hangs together, what is set, what it does.
RULES = (
    Rule("spec-present", "there is a desired state to judge against", _later("spec-present"), _ALL),
    Rule("accelerator-count", "as many accelerators as declared, each answering", accelerator_count.judge, _EVERY,
         in_trial=True),
    Rule("topo-relation", "every pair of accelerators is as close as declared", topo_relation.judge, _TOPO),
    Rule("topo-agreement", "PCI tree, NVML and nvidia-smi tell the same relations", topo_agreement.judge, _TOPO),
    Rule("p2p-capability", "the driver lets every GPU reach every other's memory", _later("p2p-capability"), _TOPO),
    Rule("nvml-answers", "the driver's library answers for every GPU", _later("nvml-answers"),
         (*_EVERY, "driver")),
    Rule("device-nodes", "/dev has the nodes that CUDA opens", _later("device-nodes"), _EVERY,
         of_posts=True),
    Rule("cuda-toolkit", "nvcc can compile for the GPUs that are there", _later("cuda-toolkit"), _EVERY,
         of_posts=True),
    Rule("nccl-transport", "by NCCL's log, GPUs of one machine meet directly", _later("nccl-transport"), _EVERY,
         of_posts=True),
    Rule("bench-figures", "figures of known benchmarks are what the path can carry", _later("bench-figures"), _EVERY,
         of_posts=True),
    Rule("engine-decisions", "vLLM or SGLang uses peer access, or says why not", _later("engine-decisions"), _EVERY,
         of_posts=True),
    Rule("link-width", "declared lanes at the accelerator and every hop above it", link_width.judge, _TOPO),
    Rule("link-speed", "under load every link runs as fast as its ends and the board", _later("link-speed"), _TOPO),
    Rule("link-aspm", "no hop of an accelerator lets its link sleep", _later("link-aspm"), _TOPO),
    Rule("link-payload", "one packet size along the path, and not 128 without need", _later("link-payload"), _TOPO),
    Rule("link-errors", "no PCIe error at any hop, as differences with --since", _later("link-errors")),
    Rule("switch-chip", "the switches by name, with what is known to be wrong with them", _later("switch-chip"), _TOPO),
    Rule("uplink-shared", "no uplink is slower than one accelerator's own link", _later("uplink-shared"), _TOPO),
    Rule("uplink-neighbours", "no drive shares the way to the host", _later("uplink-neighbours")),
    Rule("acs-redirect", "no port between two accelerators redirects their traffic", acs_redirect.judge, _EVERY,
         in_trial=True),
    Rule("acs-persistence", "the redirect bits stay clear after resets and reboots", acs_persistence.judge),
    Rule("cmdline-token", "every declared kernel parameter is set, generated and running", cmdline_token.judge,
         in_trial=True),
    Rule("cmdline-rejected", "the kernel took every declared parameter", cmdline_rejected.judge, in_trial=True),
    Rule("cmdline-unknown", "the kernel parses every PCI, IOMMU and ASPM word it was given", _later("cmdline-unknown")),
    Rule("cmdline-pending", "the next boot has the tuning words that run now", _later("cmdline-pending")),
    Rule("cmdline-conflict", "nothing on the command line takes a declared parameter back", cmdline_conflict.judge),
    Rule("iommu-mode", "the accelerators' IOMMU groups are in the declared mode", iommu_mode.judge, in_trial=True),
    Rule("iommu-trap", "no word that switches the IOMMU off leaves ACS to the kernel", _later("iommu-trap")),
    Rule("kernel-lockdown", "the kernel lets ACS be written, or nothing depends on it", _later("kernel-lockdown")),
    Rule("module-parameter", "declared module parameters are live", module_parameter.judge, _DRIVER,
         in_trial=True),
    Rule("cpu-governor", "every CPU has the declared governor", cpu_governor.judge),
    Rule("cpu-lost", "every thread of the machine came up", _later("cpu-lost")),
    Rule("smt", "SMT is as declared", _later("smt")),
    Rule("numa-nodes", "every node has memory, every accelerator a node", _later("numa-nodes")),
    Rule("numa-balancing", "the kernel does not move memory between NUMA nodes", _later("numa-balancing")),
    Rule("init-on-alloc", "memory is zeroed, or not, as declared", _later("init-on-alloc")),
    Rule("memlock", "services may lock enough memory for pinned buffers", _later("memlock"), _RUNTIME),
    Rule("swap", "how much swap is there and in use", _later("swap")),
    Rule("driver-version", "the loaded driver is the declared one", driver_version.judge, _DRIVER),
    Rule("driver-coherence", "kernel module, libraries and packages are of one version",
         _later("driver-coherence"), _DRIVER),
    Rule("driver-pending", "the next boot finds a module and firmware of that version",
         _later("driver-pending"), _DRIVER),
    Rule("driver-held", "no upgrade moves a part of the driver on its own", _later("driver-held"), _DRIVER),
    Rule("unattended-upgrades", "upgrades by themselves spare driver and toolkit",
         _later("unattended-upgrades"), _DRIVER),
    Rule("kernel-held", "the kernel waits for precompiled driver modules", _later("kernel-held"), _DRIVER),
    Rule("dkms-build", "DKMS can build the module for the next kernel", _later("dkms-build"), _DRIVER),
    Rule("secure-boot-key", "the kernel trusts whoever signed the module", _later("secure-boot-key"), _DRIVER),
    Rule("driver-bound", "every GPU of NVIDIA's has a driver", _later("driver-bound"), _DRIVER),
    Rule("nouveau-loaded", "nouveau drives no GPU of NVIDIA's", _later("nouveau-loaded"), _DRIVER),
    Rule("module-flavour", "the open kernel modules are loaded", _later("module-flavour"), _DRIVER),
    Rule("relaxed-ordering", "declared relaxed ordering is allowed to the GPUs", _later("relaxed-ordering"), _DRIVER),
    Rule("registry-dwords", "every word of RegistryDwords does what it seems to", _later("registry-dwords"), _DRIVER),
    Rule("persistence-daemon", "the driver keeps its state while nobody uses a GPU",
         _later("persistence-daemon"), _DRIVER),
    Rule("fabric-manager", "Fabric Manager runs where it is needed, and only there", _later("fabric-manager"), _DRIVER),
    Rule("fabric-state", "every GPU on an NVSwitch has joined the fabric", _later("fabric-state"), _DRIVER),
    Rule("fabric-modules", "what Blackwell's fabric manager needs of the kernel is there", _later("fabric-modules"),
         _DRIVER),
    Rule("dgx-os", "on DGX OS its own packages stay", _later("dgx-os"), _DRIVER),
    Rule("driver-stuck", "no task hangs in the driver", _later("driver-stuck"), _DRIVER),
    Rule("gpu-zombie", "no dead process still holds a GPU", _later("gpu-zombie")),
    Rule("nccl-environment", "no variable of a service is ignored or known to harm",
         _later("nccl-environment"), _RUNTIME),
    Rule("runtime-engine", "the declared engine is there and knows CDI", _later("runtime-engine"), _RUNTIME),
    Rule("runtime-cdi", "GPUs come by CDI, which daemon-reload leaves alone", _later("runtime-cdi"), _RUNTIME),
    Rule("toolkit-version", "the toolkit is of one version, the declared one", _later("toolkit-version"), _RUNTIME),
    Rule("toolkit-held", "no upgrade moves a part of the toolkit on its own", _later("toolkit-held"), _RUNTIME),
    Rule("cdi-spec", "a CDI specification names the GPUs", _later("cdi-spec"), _RUNTIME),
    Rule("cdi-stale", "it is of the loaded driver, and its files are there", _later("cdi-stale"), _RUNTIME),
    Rule("cdi-refresh", "a new driver gets a new specification by itself", _later("cdi-refresh"), _RUNTIME),
    Rule("runtime-log-limit", "no container's log fills the disk", _later("runtime-log-limit"), _RUNTIME),
    Rule("runtime-storage", "images and model have the declared space", _later("runtime-storage"), _RUNTIME),
    Rule("bar-assignment", "the memory of every PCI device found an address", _later("bar-assignment")),
    Rule("bar1-size", "every GPU shows all of its memory on the bus (Resizable BAR)", _later("bar1-size")),
    Rule("hmm-addressing", "HMM is off where the spec switches it off", _later("hmm-addressing"), _DRIVER),
    Rule("gpu-recovery", "the driver asks for no reset, reboot or drain of a GPU", _later("gpu-recovery")),
    Rule("gpu-ghost", "no GPU is busy without a process", _later("gpu-ghost")),
    Rule("gpu-ecc", "ECC is on, and no memory error was uncorrectable", _later("gpu-ecc")),
    Rule("gpu-throttle", "no GPU is slowed down by heat or power supply", _later("gpu-throttle")),
    Rule("gpu-temperature", "no GPU is near its slowdown temperature", _later("gpu-temperature")),
    Rule("gpu-power-limit", "the power limit is the declared one, or the default", _later("gpu-power-limit")),
    Rule("gpu-persistence", "the driver keeps idle GPUs initialised", _later("gpu-persistence"), _DRIVER),
    Rule("gpu-clocks", "the declared clocks were locked in this boot and hold", _later("gpu-clocks"), _DRIVER),
    Rule("gpu-mig", "no GPU is cut into MIG instances", _later("gpu-mig")),
    Rule("gpu-compute-mode", "every process may use every GPU", _later("gpu-compute-mode")),
    Rule("xid", "no Xid since boot; each with NVIDIA's recommended action", _later("xid")),
    Rule("gpu-start", "the driver brought every GPU up: adapter, firmware (GSP), probe", _later("gpu-start")),
    Rule("sxid", "no NVSwitch reported an error since boot", _later("sxid")),
    Rule("gpu-fallen-off", "no GPU fell off the bus, in operation or at probe", _later("gpu-fallen-off")),
    Rule("aer-events", "no PCIe error since boot", _later("aer-events")),
    Rule("aer-ownership", "the kernel, not the firmware, handles PCIe errors", _later("aer-ownership")),
    Rule("hung-task", "no task hung in the kernel or in the NVIDIA driver", _later("hung-task")),
    Rule("kernel-panic", "the kernel did not stop", _later("kernel-panic")),
    Rule("earlier-boots", "what the kernel said of GPUs before this boot: history", _later("earlier-boots")),
    Rule("kernel-log-complete", "the kernel log holds this whole boot", _later("kernel-log-complete")),
    Rule("kernel-taint", "the kernel has not marked itself as damaged", _later("kernel-taint")),
    Rule("kernel-pending", "the next boot starts the running kernel", _later("kernel-pending"), _DRIVER),
    Rule("clocksource", "the kernel reads the time from the CPU's own counter", _later("clocksource")),
    Rule("trial-hang", "every trial got to its end", _later("trial-hang"), (*_ALONE, *_TRIALS)),
    Rule("host-copy", "each GPU and the host exchange data, as fast as its links carry", _later("host-copy"), _ALONE),
    Rule("own-memory", "each GPU's memory holds what is written, at the board's speed", _later("own-memory"), _ALONE),
    Rule("p2p-access", "the driver lets every GPU reach every other one's memory", _later("p2p-access"), _P2P),
    Rule("p2p-integrity", "what a GPU writes to another one arrives, every word", _later("p2p-integrity"), _P2P),
    Rule("p2p-bandwidth", "each pair moves what its way can carry", _later("p2p-bandwidth"), _P2P),
    Rule("p2p-staged", "peer copies are faster than through the host", _later("p2p-staged"), _P2P),
    Rule("p2p-duplex", "both directions at once carry nearly twice of one", _later("p2p-duplex"), _P2P),
    Rule("p2p-symmetry", "pairs of one class are alike, both ways", _later("p2p-symmetry"), _P2P),
    Rule("p2p-latency", "a load from a peer takes as long as its way explains", _later("p2p-latency"), _P2P),
    Rule("p2p-flows", "several transfers at once do not collapse", _later("p2p-flows"), _P2P),
    Rule("allreduce-integrity", "every sum is right, in every group of ranks", _later("allreduce-integrity"), _REDUCE),
    Rule("allreduce-latency", "small all-reduces take an even time", _later("allreduce-latency"), _REDUCE),
    Rule("allreduce-bus", "large all-reduces reach what such boards are known for", _later("allreduce-bus"), _REDUCE),
    Rule("allreduce-soak", "minutes of mixed all-reduces without stop or wrong sum", _later("allreduce-soak"), _REDUCE),
    Rule("allreduce-nccl", "an NCCL without known crashes, that uses P2P", _later("allreduce-nccl"), _REDUCE),
    # Behind what a trial found by itself, which says more than that a figure was better once.
    Rule("measured-pass", "the GPUs are measured before a container starts", measured_pass.judge, _ALL),
)


def judge(case: Case, verb: str) -> list[Finding]:
    """Every finding of a verb ("topo", "host", "preflight", ...), in the order of RULES."""
    both = verb == "trial" or (verb == "preflight" and case.measured is not None)
    verbs = {verb, *(_MEASURED if both else ())}
    posts = case.snapshot.posted.anything       # where there are none, the checks of them are not even imported
    chosen = [rule for rule in RULES if verbs & set(rule.verbs) and (rule.in_trial or not case.trial)
              and (posts or not rule.of_posts)]
    return [_for_guest(case, finding) for rule in chosen for finding in limited(case, rule.judge(case))]


def _for_guest(case: Case, finding: Finding) -> Finding:
    """In a virtual machine nobody can reseat a board or change the BIOS: the remedy names who can."""
    remedy = finding.remedy
    if remedy is None or not remedy.physical or not case.guest:
        return finding
    return replace(finding, remedy=replace(remedy, text=ON_ITS_HOST + remedy.text, needs_reboot=False))
