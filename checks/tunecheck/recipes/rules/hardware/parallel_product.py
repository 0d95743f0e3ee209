"""parallel-product: tp x pp x dp processes need one GPU each."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    split = recipe.parallel
    if recipe.requires.gpus and split.tp * split.pp * split.dp != recipe.requires.gpus:
        return (f"parallel tp {split.tp} x pp {split.pp} x dp {split.dp} is {split.tp * split.pp * split.dp}, "
                f"requires.gpus is {recipe.requires.gpus}")
    return None


RULE = Rule(
    "parallel-product", "reject",
    "tp x pp x dp processes need one GPU each",
    "vLLM and SGLang documentation of parallelism, 2026-11",
    violation,
    unbounded="it is arithmetic of the recipe's own fields",
)
