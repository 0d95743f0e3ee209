"""sglang-058-nan: SGLang 0.5.8 computes NaN on compute capability 12.x."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, workstation_blackwell


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "sglang" and recipe.engine.version == "0.5.8" and workstation_blackwell(recipe):
        return "engine.version is 0.5.8"
    return None


RULE = Rule(
    "sglang-058-nan", "reject",
    "SGLang 0.5.8 computes NaN on compute capability 12.x",
    "report of the 4-GPU Marlin configuration, 2026-03",
    violation,
    bounds=Bounds({"sglang": ">=0.5.8,<0.5.9"}, "the one release that the report names, 2026-03"),
)
