"""gpu-recovery: the driver asks for no reset, reboot or drain of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import Command, typed
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from .from_nvml import Verdict, each, number, smi

CHECK = Check(
    "gpu-recovery", "the driver asks for no reset, reboot or drain of a GPU",
    Heading.GPUS, 30, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.recovery_action", "gpu.remap_pending", "gpu.remap_failed"), happening=True,
)
_ID = CHECK.id
_RESET = smi("--gpu-reset")
#: nvmlDeviceGpuRecoveryAction_t
_ACTIONS: dict[int, tuple[str, str, tuple[str | Command, ...]]] = {
    1: ("a reset", "end every program that uses it", _RESET), 2: ("a reboot", "", ("reboot the host",)),
    3: ("a drain of peer-to-peer", "end every program with peers, start no new one", ("read it again",)),
    4: ("a drain and a reset", "end every program with peers", _RESET),
    7: ("a system reboot", "", ("reboot the host",)),
    5: ("a recovery of its IMEX domain", "", ("restart nvidia-imex on every node",)),
    6: ("a reset of its PCIe bus", "end every program that uses it", ("power-cycle the host",)),
}


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    action = number(gpu, "recovery_action", 1 << 31)
    if not action:
        return Verdict("pass", "the driver asks for no recovery action")
    name, first, how = _ACTIONS.get(action, (f"recovery action {action}", "", typed("see `nvidia-smi -q`")))
    fix = (f"{first}, then ", *how) if first else how
    return Verdict("fail", f"the driver asks for {name}", str(action), "none", fix, action in (2, 6, 7),
                   place=Place.MACHINE if action == 6 else Place.BOX)
