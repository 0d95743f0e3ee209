"""b12x-format: b12x kernels read modelopt_fp4 checkpoints; compressed-tensors ones do not load."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.moe_backend == "b12x" and recipe.model.format not in ("modelopt_fp4", None):
        return f"engine.moe_backend is b12x and model.format {recipe.model.format}"
    return None


RULE = Rule(
    "b12x-format", "reject",
    "b12x kernels read modelopt_fp4 checkpoints; compressed-tensors ones do not load",
    "author of the 198 tok/s configuration, 2026-04-08",
    violation,
    bounds=Bounds(
        {"sglang": "<0.5.24", "vllm": "<0.22.0"},
        "no release of these offers b12x, so it is a fork's: wheels of vLLM 0.16.0 to 0.21.0 and SGLang 0.5.23; in "
        "vLLM 0.33.0 compressed-tensors experts take the same kernels (oracle/nvfp4.py); read 2026-11-23",
        ended={"vllm": ">=0.33.0,<0.34.0"}),
)
