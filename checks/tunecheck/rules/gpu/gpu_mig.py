"""gpu-mig: no GPU is cut into MIG instances where GPUs have to reach each other."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.fact import Absence
from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..context import Case
from .from_nvml import Unread, Verdict, each, smi, word

CHECK = Check(
    "gpu-mig", "no GPU is cut into MIG instances", Heading.GPUS, 110, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.mig", "gpu.mig_pending"),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    wanted, several = case.spec.gpu.mig, len(case.snapshot.topology.devices) > 1

    def look(gpu: Gpu) -> Verdict:
        mode, pending = word(gpu, "mig_mode", "enabled", "disabled"), gpu.fact("mig_pending")
        then = pending.value if isinstance(pending.value, str) else ""
        words = f"MIG is {mode}" + (f", {then[:20]} after the next reset" if then not in ("", mode) else "")
        goal = wanted or ("disabled" if several else mode)
        if mode != goal:
            why = ": a MIG instance has no peer-to-peer" if mode == "enabled" else ""
            fix = smi(f"-mig {int(goal == 'enabled')}", " (nothing may use it)")
            return Verdict("fail", words + why, mode, goal, fix)
        if not then and pending.absence not in (Absence.NOT_SUPPORTED, Absence.NOT_PRESENT):
            # Disabled now says nothing of the next reset, which may be the next boot.
            why = pending.reason or f"a senseless {str(pending.value)[:40]!r}"
            raise Unread("unknown", f"{words}, and the mode after the next reset is not known ({why})",
                         "NVML mig_pending", pending.absence)
        return Verdict("pass" if then in ("", goal) else "warn", words, mode, goal)

    yield from each(case, _ID, look)
