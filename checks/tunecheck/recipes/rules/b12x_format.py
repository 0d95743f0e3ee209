"""b12x-format: b12x kernels read modelopt_fp4 checkpoints; compressed-tensors ones do not load."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.moe_backend == "b12x" and recipe.model.format not in ("modelopt_fp4", None):
        return f"engine.moe_backend is b12x and model.format {recipe.model.format}"
    return None


RULE = Rule(
    "b12x-format", "reject",
    "b12x kernels read modelopt_fp4 checkpoints; compressed-tensors ones do not load",
    "author of the 198 tok/s configuration, 2026-04-08",
    says,
)
