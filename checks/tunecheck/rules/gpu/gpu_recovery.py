"""gpu-recovery: the driver asks for no reset, reboot or drain of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import Command, typed
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, number, smi

CHECK = Check(
    "gpu-recovery", "the driver asks for no reset, reboot or drain of a GPU",
    Heading.GPUS, 30, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.recovery_action",), happening=True,
)
CODES = {
    "reset-needed": "The driver asks for a reset of the GPU.",
    "reboot-needed": "The driver asks for a reboot.",
    "p2p-drain-needed": "The driver asks for an end of the GPU's peer-to-peer traffic.",
    "drain-and-reset-needed": "The driver asks for an end of the GPU's traffic and a reset.",
    "system-reboot-needed": "The driver asks for a system reboot.",
    "imex-recovery-needed": "The driver asks for a recovery of the GPU's IMEX domain.",
    "bus-reset-needed": "The driver asks for a reset of the GPU's PCIe bus.",
    "other-action-needed": "The driver asks for a recovery action that is not known here.",
}
_ID = CHECK.id
_RESET = smi("--gpu-reset")
#: nvmlDeviceGpuRecoveryAction_t
_ACTIONS: dict[int, tuple[str, str, str, tuple[str | Command, ...]]] = {
    1: ("reset-needed", "a reset", "end every program that uses the GPU", _RESET),
    2: ("reboot-needed", "a reboot", "", ("reboot the host",)),
    3: ("p2p-drain-needed", "a drain of peer-to-peer", "end every program with peers, start no new one",
        ("read the recovery action again",)),
    4: ("drain-and-reset-needed", "a drain and a reset", "end every program with peers", _RESET),
    7: ("system-reboot-needed", "a system reboot", "", ("reboot the host",)),
    5: ("imex-recovery-needed", "a recovery of its IMEX domain", "",
        typed("restart IMEX on every node: `sudo systemctl restart nvidia-imex`")),
    6: ("bus-reset-needed", "a reset of its PCIe bus", "end every program that uses the GPU",
        ("power-cycle the host",)),
}


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    action = number(gpu, "recovery_action", 1 << 31)
    if not action:
        return Verdict("ok", "pass", "the driver asks for no recovery action")
    other = ("other-action-needed", f"recovery action {action}", "", typed("see `nvidia-smi -q`"))
    code, name, first, how = _ACTIONS.get(action, other)
    fix = (f"{first}, then ", *how) if first else how
    return Verdict(code, "fail", f"the driver asks for {name}", str(action), "none", fix, action in (2, 6, 7),
                   place=Place.MACHINE if action == 6 else Place.BOX)
