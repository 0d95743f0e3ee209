"""weights-memory: the weights alone, by the parameters in the model's name and the bytes of its format, have to fit.

Formula: billions of parameters x 10^9 x bits / 8 / 2^30 GiB against requires.gpus x requires.vram_gib, for one replica.
Bits: 4.5 for NVFP4 (4 and a scale of 8 for each 16), 8 for FP8, 16 otherwise, 3.4 for GGUF Q3, 4.5 for Q4. The KV cache
comes on top, so what is rejected here never fits."""

from __future__ import annotations

import re

from ..box import Box
from ..frozen import Recipe
from .rule import Rule

_BITS = (("q2", 2.6), ("q3", 3.4), ("q4", 4.5), ("q5", 5.5), ("q6", 6.5), ("q8", 8.5), ("fp4", 4.5), ("fp8", 8.0),
         ("nvfp4", 4.5), ("awq", 4.2), ("gptq", 4.2), ("int4", 4.2))
#: Longer than any published model takes (2026-11): 1M tokens, with room.
_MOST_CONTEXT = 2_097_152


def says(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.max_context is not None and recipe.max_context > _MOST_CONTEXT:
        return f"max_context is {recipe.max_context}; expected at most {_MOST_CONTEXT}"
    size = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)B(?!\w)", recipe.model.id.replace("-", " ").replace("_", " "))
    room = recipe.requires.vram_gib
    if size is None or room is None or not recipe.requires.gpus:
        return None
    named = f"{recipe.model.format or ''} {recipe.model.id}".lower()
    bits = next((found for word, found in _BITS if word in named), 16.0)
    needed, held = float(size[1]) * 1e9 * bits / 8 / 2**30, recipe.requires.gpus * room / recipe.parallel.dp
    if needed > held:
        return f"{size[1]}B parameters of {bits:g} bits are {needed:.0f} GiB, and a replica's GPUs have {held:g} GiB"
    return None


RULE = Rule(
    "weights-memory", "reject",
    "weights that are larger than the memory of all GPUs of a replica cannot be loaded",
    "an estimate by its formula: parameters x bits / 8; NVFP4 has a scale of 8 bits for 16 values (NVIDIA), 2026-11-22",
    says,
)
