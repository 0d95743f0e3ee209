"""gpu-throttle: no GPU is slowed down by heat or by its power supply."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, maybe, number

CHECK = Check(
    "gpu-throttle", "no GPU is slowed down by heat or power supply",
    Heading.GPUS, 60, Family.GPU, needs=(Needs.GPUS,), happening=True,
)
CODES = {
    "slowed-down": "The GPU is slowed down by heat or by its power supply.",
    "was-slowed-down": "Heat or the power supply made hardware slow the GPU down since the driver was loaded; now it "
                       "does not.",
}
_ID = CHECK.id
#: nvmlClocksEventReasons of nvml.h: reasons that take half of the clocks or more, and ordinary ones.
_BAD = {8: "hardware slowdown", 32: "software thermal slowdown", 64: "hardware thermal slowdown", 128: "power brake"}
_ORDINARY = {1: "idle", 2: "application clocks", 4: "power limit reached, as under full load", 16: "sync boost",
         256: "display clocks"}
#: Counters of time since the driver was loaded, as `nvidia-smi -q` tells them; software slows down earlier and less.
_HARD = {"slowdown_hw_thermal_us": "hardware slowed it down for heat",
         "slowdown_power_brake_us": "the power supply braked it"}
_SOFT = "slowdown_sw_thermal_us"
#: A shorter time is said beside a pass: what a start leaves, and a glitch.
_WORTH = 1_000_000
_MOST = 1 << 62
_FIX = "look at airflow and fans (thermal), at cables and power supply (power brake), and read it again under load"


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    bits = number(gpu, "clocks_event_reasons", (1 << 64) - 1)
    bad, ordinary = ([name for bit, name in names.items() if bits & bit] for names in (_BAD, _ORDINARY))
    rest = bits & ~sum({**_BAD, **_ORDINARY})
    ordinary += [f"reasons {rest:#x}, unknown to this tunecheck"] if rest else []
    if bad:
        return Verdict("slowed-down", "fail", f"slowed down: {', '.join(bad)}", f"{bits:#x}", "no slowdown", _FIX,
                       place=Place.MACHINE)
    hard = {text: time for key, text in _HARD.items() if (time := maybe(gpu, key, _MOST))}
    before = [f"{text} for {_span(time)}" for text, time in hard.items()]
    if not before and maybe(gpu, _SOFT, _MOST):
        # Its time would differ from GPU to GPU, and equal GPUs stand in one line.
        before = ["software slowed it down for heat"]
    reasons = f" ({','.join(ordinary)})" if ordinary else ""
    once = f"since the driver was loaded {' and '.join(before)}"
    text = f"not slowed down now{reasons}; {once}" if before else f"not slowed down{reasons}"
    if any(time >= _WORTH for time in hard.values()):
        return Verdict("was-slowed-down", "warn", f"{once}; not slowed down now{reasons}",
                       f"{bits:#x}", "no slowdown", _FIX, place=Place.MACHINE)
    return Verdict("ok", "pass", text, f"{bits:#x}")


def _span(microseconds: int) -> str:
    seconds = microseconds // 1_000_000
    if seconds < 1:
        return "less than a second"
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
