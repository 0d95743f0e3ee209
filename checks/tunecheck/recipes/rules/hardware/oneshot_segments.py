"""oneshot-segments: oneshot all-reduce crashes in pcie_allreduce.cu with PyTorch's expandable segments."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, has


def violation(recipe: Recipe, box: Box | None) -> str | None:
    setting = " ".join(recipe.env.get(name, "") for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"))
    if has(recipe, "--enable-pcie-oneshot-allreduce") and "expandable_segments:true" in setting.lower():
        return "args have --enable-pcie-oneshot-allreduce and env expandable_segments:True"
    return None


RULE = Rule(
    "oneshot-segments", "reject",
    "oneshot all-reduce crashes in pcie_allreduce.cu with PyTorch's expandable segments",
    "rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), 2026-05",
    violation,
    unbounded="the option is a fork's: no release in the tables has it, and a fork's versions are not the engine's",
)
