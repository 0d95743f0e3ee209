"""sglang-compressed-nan: SGLang computes NaN with compressed-tensors checkpoints of Qwen3.5."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "sglang" and recipe.model.format == "compressed-tensors" and "Qwen3.5" in recipe.model.id:
        return f"{recipe.model.id} is compressed-tensors; take a modelopt_fp4 checkpoint"
    return None


RULE = Rule(
    "sglang-compressed-nan", "reject",
    "SGLang computes NaN with compressed-tensors checkpoints of Qwen3.5",
    "rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), 2026-05",
    violation,
    bounds=Bounds(
        {"sglang": ">=0.5.9,<0.5.10"},
        "rtx6kpro wiki, kld-evaluation.md of 2026-03-29: 45 of 60 layers do not load in the SGLang of that day, whose "
        "release was 0.5.9; no other release was measured"),
)
