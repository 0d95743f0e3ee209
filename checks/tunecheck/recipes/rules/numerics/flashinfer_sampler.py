"""flashinfer-sampler: FlashInfer's sampler fell to 5.9 tok/s on compute capability 12.x, 8.6 times slower."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, workstation_blackwell


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.env.get("VLLM_USE_FLASHINFER_SAMPLER") == "1" and workstation_blackwell(recipe):
        return "env sets VLLM_USE_FLASHINFER_SAMPLER=1"
    return None


RULE = Rule(
    "flashinfer-sampler", "reject",
    "FlashInfer's sampler fell to 5.9 tok/s on compute capability 12.x, 8.6 times slower",
    "report of the 4-GPU Marlin configuration, vLLM 0.17.0rc1, 2026-03",
    violation,
    bounds=Bounds(
        {"vllm": ">=0.16.0,<0.21.0"},
        "the variable chooses it in wheels 0.16.0 to 0.20.0 (envs.py: default None), measured 2026-03; from 0.21.0 on "
        "it is the default, and 1 changes nothing (wheels 0.21.0 and 0.33.0); read 2026-11-23",
        ended={"vllm": ">=0.21.0,<0.34.0"}),
)
