"""eager-mode: without CUDA graphs decoding is several times slower: 12 against 31, 11 against 115 tok/s."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, has


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.cuda_graphs == "eager" or has(recipe, "--enforce-eager", "--disable-cuda-graph"):
        return "CUDA graphs are switched off"
    return None


RULE = Rule(
    "eager-mode", "reject",
    "without CUDA graphs decoding is several times slower: 12 against 31, 11 against 115 tok/s",
    "report of the single-GPU configuration and rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), "
    "2026-05",
    violation,
    unbounded="without graphs the CPU launches every kernel of every step, in any release; the tables of vLLM 0.17.0 "
              "to 0.33.0 and SGLang 0.5.23 have the options",
)
