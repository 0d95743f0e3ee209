"""fabric-state: every GPU that hangs on an NVSwitch has joined the NVLink fabric."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "fabric-state", "every GPU on an NVSwitch has joined the fabric",
    Heading.DRIVER, 160, Family.DRIVER, DRIVER, judges=("gpu.fabric_state", "gpu.fabric_status"),
)
_ID = CHECK.id
CODES = {
    "not-joined": "A GPU has not joined the NVLink fabric.",
    "no-nvswitch": "No GPU hangs on an NVSwitch.",
    "need-unknown": "Whether a GPU hangs on an NVSwitch is not in the report.",
}
_LOOK = Remedy.of("run: ", run("systemctl restart nvidia-fabricmanager"), "; then: ",
                  run("journalctl -u nvidia-fabricmanager"))


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    nvml, states = case.snapshot.nvml, from_driver.fabric(case)
    if nvml.value is None:
        yield from_driver.unread(_ID, "NVML", "whether the GPUs have joined the fabric", nvml)
        return
    for gpu in nvml.value.gpus:
        if states.get(gpu.bdf, "completed") != "completed":
            status = gpu.fact("fabric_status")
            yield Finding(_ID, "not-joined", gpu.bdf, "fail", "effective",
                          f"GPU {gpu.bdf} has not joined the NVLink fabric: "
                          f"{states[gpu.bdf]} ({status.value or status.reason})", states[gpu.bdf], "completed",
                          (nvml.source,), _LOOK)
    unread = from_driver.fabric_unread(case)
    if unread and not set(states.values()) - {"completed"}:
        yield Finding(_ID, "need-unknown", "fabric", "unknown", "effective",
                      f"whether {unread} hangs on an NVSwitch is not told: no "
                      "fabric state; add the whole of: nvidia-smi -q", evidence=(nvml.source,))
    elif not set(states.values()) - {"completed"}:
        yield Finding(_ID, OK if states else "no-nvswitch", "fabric", "pass" if states else "skip", "effective",
                      f"all {len(states)} GPUs have joined "
                      "the NVLink fabric" if states else "no GPU here hangs on an NVSwitch", "", "", (nvml.source,))
