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
    "near-slowdown": "The GPU is near the temperature at which its hardware slows down.",
}
_ID = CHECK.id
_NEAR = 5
_FIX = "look at airflow, fans and the neighbours' exhaust; lower the power limit until then (see gpu-power-limit)"


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    now, slow = number(gpu, "temperature_c", 150), number(gpu, "temperature_slowdown_c", 150, 40)
    if slow - now > _NEAR:
        return Verdict("ok", "pass", f"more than {_NEAR} degrees below the slowdown at {slow} C")
    code, outcome = ("at-slowdown", "fail") if now >= slow else ("near-slowdown", "warn")
    return Verdict(code, outcome, f"{now} C; the hardware slows down at {slow} C", f"{now} C",
                   f"below {slow - _NEAR} C", _FIX, place=Place.MACHINE)
