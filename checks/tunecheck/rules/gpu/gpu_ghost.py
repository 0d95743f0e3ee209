"""gpu-ghost: no GPU is busy without a process, or without drawing power. One that is has a stuck reading, waits for
others, or is wedged."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import typed
from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, board_of, each, maybe, number, smi

CHECK = Check(
    "gpu-ghost", "no GPU is busy without a process or without power", Heading.GPUS, 40, Family.GPU,
    needs=(Needs.GPUS,), happening=True,
)
CODES = {
    "busy-with-process": "The GPU is busy, and a process uses it.",
    "busy-at-idle-power": "The GPU is busy with a process, and draws as little as an idle one: it waits, or is wedged.",
    "processes-hidden": "The GPU computes, and its processes cannot be seen from here.",
    "suspected-wedge": "The GPU is busy without a process, and draws as much power as a wedged one.",
    "stuck-or-wedged": "The GPU is busy without a process: its reading is stuck, or it is wedged.",
}
_ID = CHECK.id
_PROBE = (*typed("let `sudo tunecheck preflight --quick` open and close a CUDA context on it, with a deadline: 0 % "
                 "afterwards means a stuck reading; if it hangs or stays busy, "), *smi("--gpu-reset", ", or reboot"))
#: As the watch has them: % of memory utilisation that is none, share of the power limit of a GPU that only waits.
#: Spinning in a collective took 0 % and 18 to 22 % (2 x H200, 2 x H100), decoding 40 % and 49 %; a wedged RTX PRO 6000
#: took at most 140 W of 600.
_EMPTY, _IDLE_SHARE = 1, 0.35
#: Performance states of a GPU that works: P0 to P2, some boards P3. P8 is idle.
_SLEEPS = 5
_TWICE = (*typed("look twice, some seconds apart (`nvidia-smi`): for a moment this is usual, as of a rank that waits "
                 "for another. Where it stays so while requests run, `sudo tunecheck watch` names who holds the others "
                 "up; a GPU that stays so when its process has ended is wedged: "), *smi("--gpu-reset", ", or reboot"))


def _idle_power(gpu: Gpu) -> str:
    """Return how an idle GPU shows, as ``P8, 11 of 300 W``; "" where it draws more, or nothing but the power says so: a
    GPU with a context may draw little at P0, and work a little."""
    power, state = maybe(gpu, "power_draw_mw", 5_000_000), maybe(gpu, "pstate", 15)
    # A board whose limit was lowered idles at the same power.
    limits = [limit for key in ("power_limit_mw", "power_limit_default_mw") if (limit := maybe(gpu, key, 5_000_000))]
    if power is None or not limits or power > _IDLE_SHARE * max(limits):
        return ""
    drawn = f"{power // 1000} of {limits[0] // 1000} W"
    if state is not None and state >= _SLEEPS:
        return f"P{state}, {drawn}"
    memory = maybe(gpu, "utilization_memory", 100)
    return f"memory {memory} % busy, {drawn}" if memory is not None and memory <= _EMPTY else ""


def judge(case: Case) -> Iterator[Finding]:
    def look(gpu: Gpu) -> Verdict:
        busy = number(gpu, "utilization_gpu", 100)
        if busy < 95:
            return Verdict("ok", "pass", "not busy without a process")
        if not isinstance(processes := gpu.values.get("processes"), list):
            raise Unread(UNREAD, "unknown", f"its processes cannot be read ({gpu.fact('processes').reason}); it "
                         f"is {busy} % busy")
        if processes and (idle := _idle_power(gpu)):
            return Verdict("busy-at-idle-power", "warn", f"{busy} % busy with a process, at the power of an idle GPU "
                           f"({idle}): so looks a kernel that only waits for its peers, and a wedged GPU; one "
                           "look says nothing of how long", f"{busy} %, {idle}", "more power while it is busy", _TWICE)
        if processes:
            return Verdict("busy-with-process", "pass", "busy with a process")
        power, used = number(gpu, "power_draw_mw", 5_000_000) // 1000, number(gpu, "memory_used_mib", 1 << 24)
        shown = f"{busy} % busy without a process, at {power} W with {used} MiB in use"
        if power > 200 or used > 2048:
            raise Unread("processes-hidden", "unknown", f"its processes are not shown, and it computes: {shown}; "
                         "a container hides them (look from the host)")
        # Published for the RTX PRO 6000: wedged at 85 to 140 W with some 624 MiB, idle at 50 W at most.
        known = board_of(case, gpu)
        wedged = known is not None and known.name.startswith("RTX PRO 6000") and power >= 80
        code, outcome, guess = (("suspected-wedge", "fail", "a wedge") if wedged else
                                ("stuck-or-wedged", "warn", "a stuck reading or a wedge"))
        return Verdict(code, outcome, f"{shown}; suspicion of {guess}", f"{busy} %", "0 %", _PROBE)

    yield from each(case, _ID, look)
