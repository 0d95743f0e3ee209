"""tensorrt-sm120: TensorRT-LLM refuses FP4 on compute capability 12.x."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, workstation_blackwell


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "tensorrt-llm" and workstation_blackwell(recipe):
        return f"engine.name is tensorrt-llm and requires.sm {', '.join(recipe.requires.sm)}"
    return None


RULE = Rule(
    "tensorrt-sm120", "reject",
    "TensorRT-LLM refuses FP4 on compute capability 12.x",
    "reports of the single-GPU and the 4-GPU Marlin configuration, 2026-03",
    says,
)
