"""quantization-redundant: vLLM detects compressed-tensors by itself; stating the same is harmless."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, value


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name == "vllm" and recipe.model.format == "compressed-tensors" \
            and value(recipe, "--quantization", "-q") == "compressed-tensors":
        return "--quantization compressed-tensors can be left out"
    return None


RULE = Rule(
    "quantization-redundant", "warn",
    "vLLM detects compressed-tensors by itself; stating the same is harmless",
    "rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), 2026-05 passes it; the 31 tok/s report leaves it"
    " out, 2026-03",
    says,
)
