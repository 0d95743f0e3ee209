"""gpu-persistence: the driver keeps the GPUs initialised while nobody uses them."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import run
from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, smi, word

CHECK = Check(
    "gpu-persistence", "the driver keeps idle GPUs initialised",
    Heading.GPUS, 90, Family.GPU, DRIVER, needs=(Needs.GPUS,), judges=("gpu.persistence",),
)
CODES = {
    "differs": "Persistence mode is not as declared; where nothing is declared, it is off.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.gpu.persistence

    def look(gpu: Gpu) -> Verdict:
        on = word(gpu, "persistence", True, False)
        words, goal = f"persistence mode is {'on' if on else 'off'}", wanted is not False
        if on == goal:
            return Verdict("ok", "pass", words)
        fix = smi("-pm 0") if on else ("run: ", run("systemctl enable --now nvidia-persistenced"),
                                          "; for this boot only: ", run("nvidia-smi -pm 1"))
        return Verdict("differs", "warn" if wanted is None else "fail", words, "on" if on else "off",
                       "on" if goal else "off", fix)

    yield from each(case, _ID, look)
