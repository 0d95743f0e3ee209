"""gpu-compute-mode: every process may open a context on every GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, smi, word

CHECK = Check(
    "gpu-compute-mode", "every process may use every GPU", Heading.GPUS, 120, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.compute_mode",),
)
CODES = {
    "prohibited": "The compute mode lets no program use the GPU.",
    "exclusive-process": "The compute mode lets only one process use the GPU.",
}
_ID = CHECK.id
_MODES = {
    "default": ("ok", "pass", ""),
    "prohibited": ("prohibited", "fail", ": no program can use it"),
    "exclusive_process": ("exclusive-process", "warn", "; a second process gets no context, so multi-process serving "
                          "breaks"),
}


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _look)


def _look(gpu: Gpu) -> Verdict:
    mode = word(gpu, "compute_mode", *_MODES)
    code, outcome, why = _MODES[mode]
    fix = () if outcome == "pass" else smi("-c 0")
    return Verdict(code, outcome, f"the compute mode is {mode}{why}", mode, "default", fix)
