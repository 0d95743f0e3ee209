"""gpu-temperature: no GPU is near the temperature at which its hardware slows down."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, number

CHECK = Check(
    "gpu-temperature", "no GPU is near its slowdown temperature",
    Heading.GPUS, 70, Family.GPU, needs=(Needs.GPUS,), happening=True,
)
CODES = {
    "at-slowdown": "The GPU has reached the temperature at which its hardware slows down.",
    "hot": "The GPU is as hot as boards get before they slow down; where this one does is not told.",
    "near-slowdown": "The GPU is near the temperature at which its hardware slows down.",
}
_ID = CHECK.id
_NEAR = 5
#: Where no slowdown is told: five degrees below that of the RTX PRO 6000 Server (92 C); the H200 has 89 C.
_HOT = 87
_FIX = "look at airflow, fans and the neighbours' exhaust; lower the power limit until then (see gpu-power-limit)"


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    now = number(gpu, "temperature_c", 150)
    if now >= _HOT and "temperature_slowdown_c" not in gpu.values:
        return Verdict("hot", "warn", f"{now} C; where the hardware slows down is not told", f"{now} C",
                       f"below {_HOT} C", _FIX, place=Place.MACHINE)
    slow = number(gpu, "temperature_slowdown_c", 150, 40)
    if slow - now > _NEAR:
        return Verdict("ok", "pass", f"more than {_NEAR} degrees below the slowdown at {slow} C")
    code, outcome = ("at-slowdown", "fail") if now >= slow else ("near-slowdown", "warn")
    where = "at" if now >= slow else "near"
    return Verdict(code, outcome, f"{now} C, {where} the {slow} C at which the hardware slows down", f"{now} C",
                   f"below {slow - _NEAR} C", _FIX, place=Place.MACHINE)
