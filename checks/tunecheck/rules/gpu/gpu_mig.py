"""gpu-mig: no GPU is cut into MIG instances where GPUs have to reach each other."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.fact import Absence
from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..codes import GPU_LIST_INCOMPLETE, UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, each, smi, word
from ..nvidia.posted_gpus import gpu_count, maybe_more

CHECK = Check(
    "gpu-mig", "no GPU is cut into MIG instances", Heading.GPUS, 110, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.mig", "gpu.mig_pending"),
)
CODES = {
    "differs": "MIG is in another mode than declared; a specification that says nothing of it means disabled for "
               "several GPUs.",
    "no-spec-enabled": "MIG is enabled beside other GPUs, and no specification asks for it.",
    "changes-at-reset": "MIG is as it should be, and the next reset changes its mode.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    wanted, several = case.spec.gpu.mig, gpu_count(case) > 1

    def look(gpu: Gpu) -> Verdict:
        mode, pending = word(gpu, "mig_mode", "enabled", "disabled"), gpu.fact("mig_pending")
        pending_mode = pending.value if isinstance(pending.value, str) else ""
        words = f"MIG is {mode}"
        if pending_mode not in ("", mode):
            words += f", {pending_mode[:20]} after the next reset"
        goal = wanted or ("disabled" if several else mode)
        if mode != goal:
            why = ": a MIG instance has no peer-to-peer" if mode == "enabled" else ""
            fix = smi(f"-mig {int(goal == 'enabled')}", "; nothing may use it meanwhile")
            if wanted is None and case.frozen is None:
                return Verdict("no-spec-enabled", "fail", f"{words}{why}; where it is meant, a specification says so "
                               f"(box_spec.gpu.mig: {mode})", mode, goal, fix)
            return Verdict("differs", "fail", words + why, mode, goal, fix)
        if mode == "enabled" and not wanted and maybe_more(case):
            raise Unread(GPU_LIST_INCOMPLETE, "unknown", f"whether other GPUs are beside it is not told; {words}")
        if not pending_mode and pending.absence not in (Absence.NOT_SUPPORTED, Absence.NOT_PRESENT):
            # The mode now does not tell the mode after the next reset, which may be the next boot.
            why = pending.reason or f"a senseless {str(pending.value)[:40]!r}"
            raise Unread(UNREAD, "unknown", f"the MIG mode after the next reset is not known ({why}); {words}",
                         "NVML mig_pending", pending.absence)
        code, outcome = ("ok", "pass") if pending_mode in ("", goal) else ("changes-at-reset", "warn")
        text = words if outcome == "pass" else f"MIG will be {pending_mode[:20]} after the next reset; it is {mode} now"
        return Verdict(code, outcome, text, mode, goal)

    yield from each(case, _ID, look)
