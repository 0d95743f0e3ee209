"""flashinfer-sampler: FlashInfer's sampler fell to 5.9 tok/s on compute capability 12.x, 8.6 times slower."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, workstation_blackwell


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.env.get("VLLM_USE_FLASHINFER_SAMPLER") == "1" and workstation_blackwell(recipe):
        return "env sets VLLM_USE_FLASHINFER_SAMPLER=1"
    return None


RULE = Rule(
    "flashinfer-sampler", "reject",
    "FlashInfer's sampler fell to 5.9 tok/s on compute capability 12.x, 8.6 times slower",
    "report of the 4-GPU Marlin configuration, 2026-03; vllm-project/vllm pull request 41834 switches it off",
    says,
)
