"""What happens together: a new driver moves a dozen facts, and is one thing that happened.

A rule names what leads, the best first, and what follows it on the same host since the same audit. The first rule that
finds its lead there takes its followers; a lead may lead by several rules; what no rule takes is an entry of its own.
Of what a host had when it was first seen nobody knows whether it came together: a warning with a fix of its own follows
there only by a rule whose followers follow ``always``.
Names are those of facts and of checks, as shell patterns.
"""

from __future__ import annotations

from typing import Literal

from tunecheck.rules.codes import LOG_UNREAD, NVML_UNREAD, TREE_UNREAD
from tunecheck.util.at_first_use import dataclass

from .gpu_moves import BOARDS, COUNTED

__all__ = ["ADDED", "FOLDS", "LOST", "MISSING", "OF_LOST", "REPLACED", "SOURCES", "Fold", "Source"]


@dataclass(frozen=True)
class Fold:
    """``what``: in a word, for people; `tunecheck explain` knows each. ``when``: it only holds where the leads tell
    that there are fewer GPUs or more than before, or others in their place; ``of`` CPUs: fewer or more of these.
    ``counts``: only what counts members fewer (or more) follows, and nothing else: {x:8} -> {x:7}. "same": exactly as
    many as one of the leads does; "some": any number. ``untold``: only what cannot be told because a board does not
    answer or is not listed. ``always``: what follows can hardly have another reason."""

    what: str
    leads: tuple[str, ...]
    followers: tuple[str, ...]
    when: Literal["", "fewer", "more", "others"] = ""
    counts: Literal["", "same", "some"] = ""
    untold: bool = False
    always: bool = False
    of: Literal["GPUs", "CPUs"] = "GPUs"


LOST, ADDED, REPLACED = "GPU lost", "GPU added", "GPU replaced"
#: What else tells of a GPU that is not there any more: a board that is listed and does not answer, and every check that
#: asks for it.
_MISSING = ("accelerator-count", "gpu-fallen-off", "gpu-ghost", "gpu-recovery", "nvml-answers", "driver-bound",
            "topo-*", "pcie.answers", "pcie.driver", "pcie.relation*", "pcie.unlisted", "p2p-*", "acs.path_ports",
            "cdi.*", "cdi-*", "gpu.recovery_action", *BOARDS, "xid", "aer-events", "uplink-*")
#: Of ports and pairs more go with a GPU than one.
_OF_PORTS = ("pcie.*", "p2p.*", "acs.*", "iommu.mode", "gpu.nvlinks")
#: What has members fewer with a GPU, also in a later audit than the one that lost it.
OF_LOST = ("gpu.*", *COUNTED, *_MISSING, *_OF_PORTS)
#: What a board brings with it.
_OF_BOARDS = (*COUNTED, "gpu.vbios", "gpu.power_*", "gpu.clock_*", "gpu.temperature_*", "gpu.memory", "gpu.bar1",
              "gpu.link_gen_board")
_CPUS, _OF_CPUS = ("cpu-lost", "cpu.lost", "cpu.online"), ("cpu.*", "numa.*", "numa-*")
FOLDS = (
    # A machine that is another one, or says that it is: what it is called and who its boards are goes with that.
    Fold("cloned image", ("identity.machine", "identity.board", "host.key"), ("host.key", "identity.*"), always=True),
    # Every fact and check that counts something once per GPU says it again (accelerator-count, gpu-fallen-off).
    Fold(LOST, COUNTED, ("*",), "fewer", "same", always=True),
    Fold(LOST, COUNTED, _OF_PORTS, "fewer", "some", always=True),
    Fold(LOST, COUNTED, _MISSING, "fewer", always=True),
    Fold(LOST, COUNTED, ("*",), "fewer", untold=True, always=True),
    Fold(LOST, ("accelerator-count", "gpu-fallen-off", "pcie.answers"), _MISSING, always=True),
    Fold(LOST, ("accelerator-count", "gpu-fallen-off", "pcie.answers"), ("*",), untold=True, always=True),
    Fold(ADDED, COUNTED, ("gpu.*", "pcie.*", "p2p.*", "acs.*", "cdi.*"), "more", "same"),
    Fold(ADDED, COUNTED, _OF_PORTS, "more", "some"),
    Fold(ADDED, COUNTED, ("accelerator-count", *BOARDS, "topo-*", "p2p-*", "acs.path_ports", "cdi.*", "cdi-*"), "more"),
    # Other boards: their VBIOS and limits come with them, also where one more is gone.
    Fold(REPLACED, COUNTED, _OF_BOARDS, "others"),
    Fold("firmware", ("platform.bios",), ("platform.bios*", "platform.acpi_tables", "platform.secure_boot",
                                          "iommu.table", "cpu.x2apic_refused", "pcie.aer_owner", "aer-ownership")),
    # A boot into another kernel: its modules, its parameters, and what it makes of the PCIe tree.
    Fold("kernel", ("kernel.running",), (
        "kernel.*", "kernel-*", "boot.*", "cmdline-*", "acs.*", "acs-*", "iommu.*", "iommu-*", "driver.module.*",
        "driver.signer", "driver.headers", "driver.dkms", "dkms-build", "driver-pending", "package.linux-*",
        "held.linux-*", "module.parameter.*", "module-parameter", "pcie.aer_owner", "aer-ownership",
        "pcie.*payload", "link-payload", "clocksource")),
    Fold("driver", ("driver-version", "driver.loaded"), (
        "driver.*", "driver-*", "module-flavour", "module.*", "module-parameter", "dkms-build", "package.*nvidia*",
        "held.*nvidia*", "package.libnvidia*", "held.libnvidia*", "cdi.*", "cdi-*", "hmm-addressing", "gpu.addressing",
        "registry-dwords", "nvml-answers", "gpu.recovery_action", "fabric-*", "service.*nvidia*",
        "gpu.clock_*_max")),
    Fold("kernel parameter", ("cmdline-token", "kernel.cmdline.*"), (
        "kernel.cmdline.*", "cmdline-*", "kernel.rejected", "boot.*", "iommu.*", "iommu-*", "acs.*", "acs-*",
        "pcie.*payload", "link-payload")),
    Fold("ACS", ("acs-redirect", "acs.redirecting", "acs.path_ports"), ("acs.*", "acs-*")),
    Fold("SMT", ("smt", "cpu.smt"), ("cpu.*", "cpu-lost", "numa.*", "numa-*")),
    Fold("processors lost", _CPUS, _OF_CPUS, "fewer", of="CPUs"),
    Fold("processors gained", _CPUS, _OF_CPUS, "more", of="CPUs"),
    Fold("processor frequency", ("cpu-governor", "cpu.governor"), ("cpu.epp", "cpu.scaling_driver")),
    Fold("memory", ("platform.memory",), ("numa.*", "numa-*", "memory.*")),
    Fold("power limit", ("gpu-power-limit", "gpu.power_limit"), ("gpu.power_*", "gpu-throttle")),
    Fold("link", ("link-width", "pcie.width", "pcie.bridge.width", "link-speed"),
         ("pcie.width", "pcie.bridge.width", "pcie.width_max", "pcie.gen_max", "pcie.gen_target", "pcie.bridge.gen_max",
          "link-width", "link-speed", "link-errors")),
    Fold("ECC", ("gpu-ecc", "gpu.ecc"), ("gpu.ecc_pending", "gpu.memory")),
    Fold("row remap", ("gpu-recovery", "gpu.remap_failed", "gpu.remap_pending"),
         ("gpu.remap_*", "gpu.recovery_action", "gpu-recovery", "gpu-ecc")),
    Fold("persistence", ("gpu-persistence", "gpu.persistence"), ("persistence-daemon", "service.*persistenced")),
    Fold("MIG", ("gpu-mig", "gpu.mig"), ("gpu.mig_pending",)),
)


@dataclass(frozen=True)
class Source:
    """What many checks judge, which of them is about it itself, and the codes of those that could not read it. What
    failed before keeps a line of its own."""

    what: str
    check: str
    codes: tuple[str, ...]


#: Of checks that miss any other file, text or answer, which is the same for all of them.
MISSING = "missing source"
SOURCES = (
    Source("no kernel log", "kernel-log-complete", (LOG_UNREAD,)),
    Source("no NVML", "nvml-answers", (NVML_UNREAD,)),
    # Where nvidia-smi tells the links of the boards, and the driver's table their relations, the tree is missing above.
    Source("no PCI devices", "accelerator-count", (TREE_UNREAD, "own-link-only", "tree-not-given")),
)
