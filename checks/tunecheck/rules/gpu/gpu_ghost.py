"""gpu-ghost: no GPU is busy without a process. One that is has a stuck reading, or is wedged."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import typed
from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, board_of, each, number, smi

CHECK = Check(
    "gpu-ghost", "no GPU is busy without a process", Heading.GPUS, 40, Family.GPU, needs=(Needs.GPUS,), happening=True,
)
CODES = {
    "busy-with-process": "The GPU is busy, and a process uses it.",
    "processes-hidden": "The GPU computes, and its processes cannot be seen from here.",
    "suspected-wedge": "The GPU is busy without a process, and draws as much power as a wedged one.",
    "stuck-or-wedged": "The GPU is busy without a process: its reading is stuck, or it is wedged.",
}
_ID = CHECK.id
_PROBE = (*typed("let `sudo tunecheck preflight --quick` open and close a CUDA context on it, with a deadline: 0 % "
                 "afterwards means a stuck reading; if it hangs or stays busy, "), *smi("--gpu-reset", ", or reboot"))


def judge(case: Case) -> Iterator[Finding]:
    def look(gpu: Gpu) -> Verdict:
        busy = number(gpu, "utilization_gpu", 100)
        if busy < 95:
            return Verdict("ok", "pass", "not busy without a process")
        if not isinstance(processes := gpu.values.get("processes"), list):
            raise Unread(UNREAD, "unknown", f"{busy} % busy; its processes cannot be read "
                         f"({gpu.fact('processes').reason})")
        if processes:
            return Verdict("busy-with-process", "pass", "busy with a process")
        power, used = number(gpu, "power_draw_mw", 5_000_000) // 1000, number(gpu, "memory_used_mib", 1 << 24)
        shown = f"{busy} % busy without a process, at {power} W with {used} MiB in use"
        if power > 200 or used > 2048:
            raise Unread("processes-hidden", "unknown", f"{shown}: it computes; a container hides its processes (look "
                         "from the host)")
        # Published for the RTX PRO 6000: wedged at 85 to 140 W with some 624 MiB, idle at 50 W at most.
        known = board_of(case, gpu)
        wedged = known is not None and known.name.startswith("RTX PRO 6000") and power >= 80
        code, outcome, guess = (("suspected-wedge", "fail", "a wedge") if wedged else
                                ("stuck-or-wedged", "warn", "a stuck reading or a wedge"))
        return Verdict(code, outcome, f"{shown}: suspicion of {guess}", f"{busy} %", "0 %", _PROBE)

    yield from each(case, _ID, look)
