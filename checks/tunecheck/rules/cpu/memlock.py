"""memlock: services and containers may lock enough memory for their pinned buffers."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.kernel.platform import UNLIMITED
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "memlock", "services may lock enough memory for pinned buffers",
    Heading.SYSTEM, 80, Family.CPU, RUNTIME, needs=(Needs.TREE, Needs.PAIRS), judges=("memlock.*",),
)
CODES = {
    "no-gpu-pair": "There are fewer than two NVIDIA GPUs, so NCCL pins no buffers.",
    "no-systemd": "There is no systemd here, so no service has a limit.",
    "too-low": "The memory that a service or container may lock by default is too little for pinned buffers.",
}
_ID = CHECK.id
_ENOUGH = 1 << 30
#: What each container and service sets for itself is not read: only the default ends the warning.
_FIX = Remedy.typed(
    "start containers with --ulimit memlock=-1 (Quadlet: Ulimit=memlock=-1:-1), services with LimitMEMLOCK=infinity: "
    "these work whatever the default is, and this warning, which is about the default alone, may then be left or "
    "waived. To end it, write DefaultLimitMEMLOCK=infinity below [Manager] to a file of its own in "
    "/etc/systemd/system.conf.d, run `sudo systemctl daemon-reexec`, then restart the container runtime")


def judge(case: Case) -> Iterator[Finding]:
    fact = case.host.platform.memlock
    code, outcome, text, shown = "no-gpu-pair", "skip", "fewer than two NVIDIA GPUs: no NCCL buffers to pin", ""
    if sum(device.ids.startswith("10de:") for device in case.snapshot.topology.devices) >= 2:
        # Containers inherit the limit of the runtime's service: where a runtime runs, only its limit counts.
        limits = fact.value or {}
        counts = {name: limit for name, limit in limits.items() if name != "services"} or limits
        shown = ", ".join(f"{name} {_size(limit)}" for name, limit in counts.items())
        if fact.value is None:
            no_systemd = fact.missing or fact.absence is Absence.NO_SYSTEMD
            code, outcome = ("no-systemd", "skip") if no_systemd else (UNREAD, "unknown")
            text = f"the limit of services cannot be told: {fact.why()}"
        elif min(counts.values()) >= _ENOUGH:
            code, outcome, text = "ok", "pass", f"memory that may be locked by default: {shown}"
        else:
            code, outcome = "too-low", "warn"
            text = (f"memory that may be locked by default: {shown}; a container or service that sets no limit of its "
                    "own cannot pin NCCL's and RDMA's buffers, nor lock a model")
    yield Finding(_ID, code, "limits", outcome, "effective", text, shown, "unlimited" if outcome == "warn" else "",
                  (fact.source,), _FIX if outcome == "warn" else None,
                  absence=fact.absence if outcome == "unknown" else None)


def _size(limit: int) -> str:
    return "unlimited" if limit == UNLIMITED else f"{limit >> 20} MiB" if limit >> 20 else f"{limit >> 10} KiB"
