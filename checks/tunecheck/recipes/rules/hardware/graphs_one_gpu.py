"""graphs-one-gpu: with the 122B model on one 96 GB GPU, capturing full CUDA graphs runs out of memory; piecewise
graphs fit.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.requires.gpus == 1 and "122B" in recipe.model.id and recipe.engine.cuda_graphs == "full":
        return "engine.cuda_graphs is full on one GPU; use piecewise"
    return None


RULE = Rule(
    "graphs-one-gpu", "reject",
    "with the 122B model on one 96 GB GPU, capturing full CUDA graphs runs out of memory; piecewise graphs fit",
    "report of the single-GPU 31 tok/s configuration, vLLM 0.17.0, 2026-03",
    violation,
    bounds=Bounds({"vllm": ">=0.17.0,<0.18.0"}, "measured with 0.17.0, 2026-03; no other release was measured"),
)
