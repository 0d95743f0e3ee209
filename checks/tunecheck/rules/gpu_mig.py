"""gpu-mig: no GPU is cut into MIG instances where GPUs have to reach each other."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.nvml import Gpu
from .check import Check, Family, Heading, Needs
from .finding import Case, Finding
from .from_nvml import Verdict, each, smi, word

CHECK = Check(
    "gpu-mig", "no GPU is cut into MIG instances", Heading.GPUS, 110, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.mig", "gpu.mig_pending"),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    wanted, several = case.spec.gpu.mig, len(case.snapshot.topology.devices) > 1

    def look(gpu: Gpu) -> Verdict:
        mode, then = word(gpu, "mig_mode", "enabled", "disabled"), str(gpu.values.get("mig_pending", ""))[:20]
        words = f"MIG is {mode}" + (f", {then} after the next reset" if then not in ("", mode) else "")
        goal = wanted or ("disabled" if several else mode)
        if mode != goal:
            why = ": a MIG instance has no peer-to-peer" if mode == "enabled" else ""
            fix = smi(f"-mig {int(goal == 'enabled')}", " (nothing may use it)")
            return Verdict("fail", words + why, mode, goal, fix)
        return Verdict("pass" if then in ("", goal) else "warn", words, mode, goal)

    yield from each(case, _ID, look)
