"""cutlass-auto: on compute capability 12.x vLLM's own choice for NVFP4 experts is a CUTLASS kernel that gives garbage
at 5-7 tok/s.
"""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, workstation_blackwell


def says(recipe: Recipe, box: Box | None) -> str | None:
    chosen = recipe.engine.moe_backend
    if recipe.engine.name == "vllm" and recipe.model.moe and recipe.model.format == "modelopt_fp4" \
            and workstation_blackwell(recipe) and chosen in (None, "auto", "cutlass"):
        return f"engine.moe_backend is {chosen or 'not stated'}; name one: b12x, marlin, flashinfer_cutlass"
    return None


RULE = Rule(
    "cutlass-auto", "reject",
    "on compute capability 12.x vLLM's own choice for NVFP4 experts is a CUTLASS kernel that gives garbage at 5-7"
    " tok/s",
    "vllm-project/vllm issue 36094 and NVIDIA/cutlass issue 3096, 2026-03",
    says,
)
