"""Check families: the columns of the fleet's grid, in the order of a report. One place for which check is in which."""

from __future__ import annotations

from collections.abc import Iterable

from ..rules.finding import OUTCOMES, Finding

__all__ = ["FAMILIES", "family_of", "outcomes"]

#: Family -> what it is about.
FAMILIES = {
    "spec": "there is a desired state to judge against", "gpu": "the boards and what NVML says of them",
    "pcie": "links, switches and how the accelerators relate", "acs": "who sends peer traffic up",
    "boot": "kernel, its command line, the next boot", "iommu": "translation of the accelerators' addresses",
    "cpu": "processors, NUMA nodes, memory policy, clock", "driver": "the NVIDIA driver in all its parts",
    "runtime": "containers and what services get", "errors": "what the logs and the error registers hold",
    "measured": "what trials measured",
}
_BY_WORD = {
    "spec": "spec", "accelerator": "gpu", "nvml": "gpu", "gpu": "gpu", "bar1": "gpu", "topo": "pcie", "link": "pcie",
    "bar": "pcie", "switch": "pcie",
    "uplink": "pcie", "acs": "acs", "cmdline": "boot", "kernel": "boot", "iommu": "iommu",
    "cpu": "cpu", "smt": "cpu", "numa": "cpu", "memlock": "cpu", "swap": "cpu", "clocksource": "cpu",
    "module": "driver", "driver": "driver", "unattended": "driver", "dkms": "driver", "secure": "driver",
    "nouveau": "driver", "registry": "driver", "persistence": "driver", "fabric": "driver", "hmm": "driver",
    "nccl": "runtime", "runtime": "runtime", "toolkit": "runtime", "cdi": "runtime", "xid": "errors", "aer": "errors",
    "earlier": "errors", "hung": "errors", "sxid": "errors",
    "p2p": "measured", "allreduce": "measured", "trial": "measured",
    "measured": "measured", "host": "measured", "own": "measured", "dgx": "driver", "init": "cpu", "relaxed": "pcie",
    "bench": "measured", "engine": "runtime", "cuda": "driver", "device": "driver",
}
#: Where the first word is another family's.
_BY_ID = {"p2p-capability": "pcie", "link-errors": "errors", "gpu-fallen-off": "errors", "gpu-start": "errors",
          "kernel-panic": "errors", "kernel-held": "driver",
          "kernel-log-complete": "errors", "kernel-taint": "errors"}
_RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}


def family_of(check: str) -> str:
    """The family of a check's id; "errors" for one that this version does not know."""
    return _BY_ID.get(check) or _BY_WORD.get(check.partition("-")[0], "errors")


def outcomes(findings: Iterable[Finding]) -> dict[str, str]:
    """The worst outcome of each family that was judged, in the order of FAMILIES."""
    found: dict[str, str] = {}
    for finding in findings:
        family = family_of(finding.id)
        if family not in found or _RANK[finding.outcome] < _RANK[found[family]]:
            found[family] = finding.outcome
    return {family: found[family] for family in FAMILIES if family in found}
