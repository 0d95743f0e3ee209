"""gpu-throttle: no GPU is slowed down by heat or by its power supply."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, number

CHECK = Check(
    "gpu-throttle", "no GPU is slowed down by heat or power supply",
    Heading.GPUS, 60, Family.GPU, needs=(Needs.GPUS,), happening=True,
)
CODES = {
    "slowed-down": "The GPU is slowed down by heat or by its power supply.",
}
_ID = CHECK.id
#: nvmlClocksEventReasons of nvml.h: reasons that take half of the clocks or more, and ordinary ones.
_BAD = {8: "hardware slowdown", 32: "software thermal slowdown", 64: "hardware thermal slowdown", 128: "power brake"}
_ORDINARY = {1: "idle", 2: "application clocks", 4: "power limit reached, as under full load", 16: "sync boost",
         256: "display clocks"}
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
    return Verdict("ok", "pass", f"not slowed down{f' ({chr(44).join(ordinary)})' if ordinary else ''}", f"{bits:#x}")
