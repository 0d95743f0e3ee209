"""marlin-speculation: speculation on Marlin's 16-bit activations costs 22 %: 50.5 became 39.6 tok/s."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.moe_backend == "marlin" and recipe.speculative.method != "none":
        return f"engine.moe_backend is marlin and speculative.method {recipe.speculative.method}"
    return None


RULE = Rule(
    "marlin-speculation", "reject",
    "speculation on Marlin's 16-bit activations costs 22 %: 50.5 became 39.6 tok/s",
    "vllm-project/vllm issue 36094, 4 GPUs, 2026-03",
    violation,
    bounds=Bounds({"vllm": ">=0.17.0,<0.18.0"}, "measured with 0.17.0rc1, 2026-03; no other release was measured"),
)
