"""marlin-forced: without VLLM_MOE_FORCE_MARLIN=1 vLLM may pick CUTLASS in place of Marlin, without a word."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "vllm" and recipe.engine.moe_backend == "marlin" \
            and recipe.env.get("VLLM_MOE_FORCE_MARLIN") != "1":
        return "engine.moe_backend is marlin and env has no VLLM_MOE_FORCE_MARLIN: \"1\""
    return None


RULE = Rule(
    "marlin-forced", "reject",
    "without VLLM_MOE_FORCE_MARLIN=1 vLLM may pick CUTLASS in place of Marlin, without a word",
    "vllm-project/vllm issue 36094, 2026-03",
    says,
)
