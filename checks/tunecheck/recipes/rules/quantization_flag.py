"""quantization-flag: vLLM detects compressed-tensors by itself, another --quantization makes it load wrongly or not at
all.
"""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, value


def says(recipe: Recipe, box: Box | None) -> str | None:
    stated = value(recipe, "--quantization", "-q")
    if recipe.engine.name == "vllm" and recipe.model.format == "compressed-tensors" and stated is not None \
            and stated != "compressed-tensors":
        return f"--quantization {stated} with a compressed-tensors checkpoint; leave it out"
    return None


RULE = Rule(
    "quantization-flag", "reject",
    "vLLM detects compressed-tensors by itself, another --quantization makes it load wrongly or not at all",
    "report of the single-GPU 31 tok/s configuration, vLLM 0.17.0, 2026-03",
    says,
)
