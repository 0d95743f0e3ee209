"""quantization-flag: vLLM detects compressed-tensors by itself, another --quantization makes it load wrongly or not at
all.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, value

#: humming loads checkpoints of other formats (humming.py of wheels 0.21.0 and 0.33.0: override_quantization_method);
#: before, no table has the word, and option-known refuses it.
_RIGHT = ("compressed-tensors", "humming")


def violation(recipe: Recipe, box: Box | None) -> str | None:
    stated = value(recipe, "--quantization", "-q")
    if recipe.engine.name == "vllm" and recipe.model.format == "compressed-tensors" and stated is not None \
            and stated not in _RIGHT:
        return f"--quantization {stated} with a compressed-tensors checkpoint; leave it out"
    return None


RULE = Rule(
    "quantization-flag", "reject",
    "vLLM detects compressed-tensors by itself, another --quantization makes it load wrongly or not at all",
    "report of the single-GPU 31 tok/s configuration, vLLM 0.17.0, 2026-03",
    violation,
    bounds=Bounds(
        {"vllm": ">=0.16.0,<0.34.0"},
        "config/model.py of wheels 0.16.0, 0.17.0, 0.18.0, 0.19.1, 0.20.0, 0.21.0 and 0.33.0 raises where the words "
        "and the checkpoint differ, read 2026-11-23"),
)
