"""cutlass-auto: on compute capability 12.x vLLM's own choice for NVFP4 experts is a CUTLASS kernel that gives garbage
at 5-7 tok/s.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, workstation_blackwell


def violation(recipe: Recipe, box: Box | None) -> str | None:
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
    violation,
    bounds=Bounds(
        {"vllm": ">=0.16.0,<0.20.0"},
        "its own choice is FLASHINFER_CUTLASS in wheels 0.16.0 to 0.33.0 (oracle/nvfp4.py); garbage with 0.17.0 and "
        "FlashInfer 0.6.5 (flashinfer issue 2723, 2026-03-09); FlashInfer up to 0.6.6 has CUTLASS 4.2.1, mended by "
        "flashinfer pull request 2798 (vLLM pull request 38423, 2026-03-28); 0.20.0 is the first that asks for "
        "0.6.8.post1; read 2026-11-23",
        ended={"vllm": ">=0.20.0,<0.34.0"}),
)
