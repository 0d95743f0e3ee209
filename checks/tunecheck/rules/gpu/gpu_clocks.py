"""gpu-clocks: NVML accepted the declared clocks in this boot, and no GPU runs outside of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import run
from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading, Needs
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, each, number, smi

CHECK = Check(
    "gpu-clocks", "the declared clocks were locked in this boot and hold",
    Heading.GPUS, 100, Family.GPU, DRIVER, needs=(Needs.GPUS,), judges=("gpu.clock_locks",),
)
CODES = {
    "above-declared": "A GPU runs at a higher clock than the specification declares.",
    "not-locked": "The unit tunecheck-gpu did not lock the declared clocks in this boot.",
}
_ID = CHECK.id
_STEP = 15      # MHz between two supported clocks: the GPU takes the nearest


def judge(case: Case) -> Iterator[Finding]:
    wanted, locks = case.spec.gpu.clocks_mhz, case.host.gpu_locks
    if wanted is None or len(wanted) != 2:
        yield Finding(_ID, NOT_DECLARED, "GPUs", "skip", "declared", "no clocks are declared" if case.frozen else
                      "no spec given")
        return
    span, now = f"{wanted[0]} to {wanted[1]} MHz", case.snapshot.boot_id.value
    lock = smi(f"-lgc {wanted[0]},{wanted[1]}", "; after every boot the unit does it: ",
               run("systemctl status tunecheck-gpu"))

    def look(gpu: Gpu) -> Verdict:
        clock = number(gpu, "clock_sm_mhz", 10_000)
        if clock > wanted[1] + _STEP:
            return Verdict("above-declared", "fail", f"runs at {clock} MHz, above the declared {span}", f"{clock} MHz",
                           span, lock)
        if locks.value is None and not locks.missing:
            raise Unread(UNREAD, "unknown", f"whether its clock is locked is unknown: {locks.why()}; it runs "
                         f"below {wanted[1]} MHz", absence=locks.absence)
        held = locks.value.clocks_mhz.get(gpu.bdf) if locks.value and locks.value.boot_id == now else None
        if held != wanted:
            return Verdict("not-locked", "fail", f"tunecheck-gpu did not lock {span} in this boot", str(held or "none"),
                           span, lock)
        return Verdict("ok", "pass", f"NVML took {span} in this boot, and no clock is above", span, span)

    yield from each(case, _ID, look)
