"""fabric-state: every GPU that hangs on an NVSwitch has joined the NVLink fabric."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ...util.text import some
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver
from ..nvidia.nvlinks import faults

CHECK = Check(
    "fabric-state", "every GPU on an NVSwitch has joined the fabric",
    Heading.DRIVER, 160, Family.DRIVER, ("topo", *DRIVER), judges=("gpu.fabric_state", "gpu.fabric_status"),
)
_ID = CHECK.id
CODES = {
    "not-joined": "A GPU has not joined the NVLink fabric.",
    "no-nvswitch": "No GPU hangs on an NVSwitch.",
    "nvlink-lost": "Boards that are always joined by NVLink are not.",
    "fewer-links": "A GPU has fewer NVLinks up than the others, or than its board has.",
    "odd-pair": "A pair has fewer NVLinks than nearly all other pairs.",
    "nvlink-refused": "Of boards that are always joined by NVLink one source says that they are, and another that they "
                      "are not.",
    "nvlink-disputed": "One source says that two boards are joined by NVLink, and another that they are not.",
    "links-disagree": "By nvidia-smi topo -m a pair has another number of NVLinks than nvidia-smi nvlink -s or NVML "
                      "shows up.",
    "links-down": "NVLinks of a GPU are inactive, as nvidia-smi shows.",
    "links-count-errors": "Error counters of NVLinks are not 0, as nvidia-smi shows.",
    "unhealthy": "NVML says that a GPU's place in the NVLink fabric is not healthy.",
    "health-unknown": "How a GPU's registration ended, or whether its place in the fabric is healthy, is not told.",
    "need-unknown": "Whether a GPU hangs on an NVSwitch is not in the report.",
}
_LOOK = Remedy.of("run: ", run("systemctl restart nvidia-fabricmanager"), "; then: ",
                  run("journalctl -u nvidia-fabricmanager"))

_HEALTH = Remedy.of("run: ", run("nvidia-smi nvlink -s"), " and ", run("journalctl -u nvidia-fabricmanager"),
                    "; reset all GPUs of the box, or power-cycle it; what comes back is a matter of the board's maker")
_REFUSED = Remedy.of("see whether the GPUs have joined the fabric, in the section Fabric of ", run("nvidia-smi -q"),
                     " and in ", run("journalctl -u nvidia-fabricmanager"), "; with MIG on, the driver refuses every "
                     "way between boards; where both are well, take both texts anew, on this machine: ",
                     run("nvidia-smi topo -m"), " and ", run("nvidia-smi topo -p2p n"))
_ANEW = Remedy.of("take both anew, one after the other: ", run("nvidia-smi topo -m"), " and ",
                  run("nvidia-smi nvlink -s"))
_FIXES = {"links-disagree": _ANEW, "nvlink-refused": _REFUSED, "nvlink-disputed": _REFUSED}
_WARNINGS = ("odd-pair", "links-count-errors", "links-disagree", "nvlink-disputed")


def judge(case: Case) -> Iterator[Finding]:
    shown = list(faults(case))
    for each in shown:
        outcome = "warn" if each.code in _WARNINGS else "fail"
        yield Finding(_ID, each.code, each.subject, outcome, "effective", each.text, each.observed, each.expected,
                      (each.source,), _FIXES.get(each.code, _HEALTH))
    # Why NVML says nothing is in nvml-answers. `tunecheck topo`, which reads no modules, leaves it at that.
    if (shown or case.snapshot.host is None) and case.snapshot.nvml.value is None:
        return
    if case.snapshot.host is not None and (early := list(from_driver.nothing(case, _ID))):
        yield from early
        return
    nvml, states = case.snapshot.nvml, from_driver.fabric(case)
    if nvml.value is None:
        yield from_driver.unread(_ID, "NVML", "whether the GPUs have joined the fabric", nvml)
        return
    for gpu in nvml.value.gpus:
        if states.get(gpu.bdf, "completed") != "completed":
            status, state = gpu.fact("fabric_status"), states[gpu.bdf]
            told = state if state.startswith("completed") else f"{state} ({status.value or status.reason})"
            yield Finding(_ID, "not-joined", gpu.bdf, "fail", "effective",
                          f"GPU {gpu.bdf} has not joined the NVLink fabric: "
                          f"{told}", state, "completed",
                          (nvml.source,), _LOOK)
    wrong: dict[str, list[str]] = {}        # faults: the GPUs
    for gpu in nvml.value.gpus:
        health = gpu.values.get("fabric_health")
        if gpu.bdf in states and isinstance(health, list) and health:
            wrong.setdefault(", ".join(str(fault)[:80] for fault in health[:8]), []).append(gpu.bdf)
    for text, bdfs in wrong.items():
        yield Finding(_ID, "unhealthy", ", ".join(bdfs), "fail", "effective",
                      f"the place of a GPU in the NVLink fabric is not healthy: {text}: {some(bdfs, 8)}", text,
                      "healthy", (nvml.source,), _HEALTH)
    if wrong or shown:
        return
    unread = from_driver.fabric_unread(case)
    if unread and not set(states.values()) - {"completed"}:
        yield Finding(_ID, "need-unknown", "fabric", "unknown", "effective",
                      f"not told whether a GPU hangs on an NVSwitch ({unread}): "
                      f"{from_driver.fabric_missing(case)}",
                      evidence=(nvml.source,))
    elif not set(states.values()) - {"completed"} and (unsaid := from_driver.fabric_unsaid(case)):
        parts = some([f"{bdf}: {what}" for bdf, what in unsaid.items()], 3)
        yield Finding(_ID, "health-unknown", ", ".join(unsaid), "unknown", "effective",
                      f"how {len(states)} GPUs have joined the NVLink fabric is not known: {parts}",
                      "completed", "completed, success, healthy", (nvml.source,))
    elif not set(states.values()) - {"completed"}:
        yield Finding(_ID, OK if states else "no-nvswitch", "fabric", "pass" if states else "skip", "effective",
                      f"all {len(states)} GPUs have joined "
                      "the NVLink fabric" if states else "no GPU here hangs on an NVSwitch", "", "", (nvml.source,))
