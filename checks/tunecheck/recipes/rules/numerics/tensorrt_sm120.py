"""tensorrt-sm120: TensorRT-LLM refuses FP4 on compute capability 12.x."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, workstation_blackwell

#: compressed-tensors may be FP4, and so may what is not stated.
_MAYBE = ("compressed-tensors", None)


def violation(recipe: Recipe, box: Box | None) -> str | None:
    stated = recipe.model.format
    fp4 = stated in _MAYBE or "fp4" in str(stated)
    if recipe.engine.name == "tensorrt-llm" and workstation_blackwell(recipe) and fp4:
        return (f"engine.name is tensorrt-llm, model.format {stated or 'not stated'} and requires.sm "
                f"{', '.join(recipe.requires.sm)}")
    return None


RULE = Rule(
    "tensorrt-sm120", "reject",
    "TensorRT-LLM refuses FP4 on compute capability 12.x",
    "reports of the single-GPU and the 4-GPU Marlin configuration, 2026-03",
    violation,
    bounds=Bounds(
        {"tensorrt-llm": "<1.3.0"},
        "reports of 2026-03; TensorRT-LLM pull request 12309, 2026-03-18: NotImplementedError for FP4 experts; "
        "1.3.0rc17 of 2026-06-02 has a FlashInfer backend for 12.x (pull request 13773), while 1.3.0rc22 still failed "
        "for one model (issue 17052, 2026-07-30); read 2026-11-23"),
)
