"""quantization-redundant: vLLM detects compressed-tensors by itself; stating the same is harmless."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, value


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "vllm" and recipe.model.format == "compressed-tensors" \
            and value(recipe, "--quantization", "-q") == "compressed-tensors":
        return "--quantization compressed-tensors can be left out"
    return None


RULE = Rule(
    "quantization-redundant", "warn",
    "vLLM detects compressed-tensors by itself; stating the same is harmless",
    "rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), 2026-05 passes it; the 31 tok/s report leaves it"
    " out, 2026-03",
    violation,
    bounds=Bounds(
        {"vllm": ">=0.16.0,<0.34.0"},
        "config/model.py of wheels 0.16.0, 0.17.0, 0.18.0, 0.19.1, 0.20.0, 0.21.0 and 0.33.0 raises where the words "
        "and the checkpoint differ, read 2026-11-23"),
)
