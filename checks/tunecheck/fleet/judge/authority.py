"""Which facts a check judges: there the desired state has the say, and neither majority nor previous audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

__all__ = ["HAPPENING", "JUDGED", "judged"]

#: Checks of what goes on, not of how a box is set up: more of it is news, so that a warning of theirs never stands.
HAPPENING = frozenset({
    "aer-events", "driver-stuck", "gpu-ecc", "gpu-fallen-off", "gpu-ghost", "gpu-recovery", "gpu-start",
    "gpu-temperature", "gpu-throttle", "gpu-zombie", "hung-task", "kernel-log-complete", "kernel-panic", "link-errors",
    "runtime-storage", "xid"})

#: Check -> the facts it judges, as shell patterns; {subject} is the name of what the finding was about.
JUDGED: dict[str, tuple[str, ...]] = {
    "accelerator-count": ("pcie.accelerators", "pcie.answers", "gpu.count"),
    "acs-persistence": ("acs.unit",),
    "acs-redirect": ("acs.redirecting", "acs.path_ports"),
    "aer-ownership": ("pcie.aer_owner",),
    "bar-assignment": ("pcie.unassigned",),
    "bar1-size": ("gpu.bar1",),
    "cdi-refresh": ("cdi.refresh",),
    "cdi-spec": ("cdi.files", "cdi.devices"),
    "cdi-stale": ("cdi.drivers", "cdi.missing"),
    "clocksource": ("kernel.clocksource",),
    "cmdline-conflict": ("kernel.cmdline.{subject}",),
    "cmdline-pending": ("boot.pending",),
    "cmdline-rejected": ("kernel.rejected",),
    "cmdline-token": ("kernel.cmdline.{subject}",),
    "cpu-governor": ("cpu.governor", "cpu.epp"),
    "cpu-lost": ("cpu.lost", "cpu.online"),
    "driver-bound": ("pcie.driver",),
    "driver-coherence": ("driver.library.*", "driver.nvml"),
    "driver-held": ("held.*",),
    "driver-version": ("driver.loaded",),
    "fabric-state": ("gpu.fabric_state", "gpu.fabric_status"),
    "gpu-clocks": ("gpu.clock_locks",),
    "gpu-compute-mode": ("gpu.compute_mode",),
    "gpu-ecc": ("gpu.ecc", "gpu.ecc_pending"),
    "gpu-mig": ("gpu.mig", "gpu.mig_pending"),
    "gpu-persistence": ("gpu.persistence",),
    "gpu-power-limit": ("gpu.power_limit",),
    "gpu-recovery": ("gpu.recovery_action", "gpu.remap_pending", "gpu.remap_failed"),
    "hmm-addressing": ("gpu.addressing",),
    "iommu-mode": ("iommu.mode",),
    "kernel-lockdown": ("kernel.lockdown",),
    "kernel-pending": ("kernel.next",),
    "kernel-taint": ("kernel.taint",),
    "link-aspm": ("pcie.aspm", "pcie.bridge.aspm"),
    "link-payload": ("pcie.payload", "pcie.bridge.payload"),
    "link-speed": ("pcie.gen_max", "pcie.gen_target"),
    "link-width": ("pcie.width", "pcie.bridge.width"),
    "memlock": ("memlock.*",),
    "module-flavour": ("driver.flavour",),
    "module-parameter": ("module.parameter.{subject}", "module.configured.{subject}"),
    "nccl-environment": ("environment.*",),
    "nouveau-loaded": ("pcie.driver",),
    "numa-balancing": ("numa.balancing",),
    "numa-nodes": ("numa.without_memory", "pcie.numa"),
    "p2p-capability": ("p2p.read", "p2p.write"),
    "registry-dwords": ("driver.registry_dwords", "driver.registry_dwords_next"),
    "runtime-engine": ("engine.*",),
    "secure-boot-key": ("driver.signer", "driver.keys"),
    "smt": ("cpu.smt",),
    "spec-present": ("spec", "spec.profile"),
    "swap": ("memory.swap", "memory.swappiness"),
    "toolkit-held": ("held.*",),
    "topo-relation": ("pcie.relation", "pcie.relation_told"),
    "unattended-upgrades": ("packages.unattended", "packages.spared"),
}


def judged(check: str, subject: str, facts: Iterable[str]) -> Iterator[str]:
    """Those of the facts that the check's finding on this subject has judged."""
    patterns = [pattern.replace("{subject}", _literal(_word(subject))) for pattern in JUDGED.get(check, ())]
    return (fact for fact in facts if any(fnmatchcase(fact, pattern) for pattern in patterns))


def _word(subject: str) -> str:
    """The fact's part of a subject such as "iommu=pt" or "nvidia NVreg_Foo" (module and parameter)."""
    return subject.split("=")[0].strip().replace(" ", ".")


def _literal(text: str) -> str:
    """What a box calls something is no pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
