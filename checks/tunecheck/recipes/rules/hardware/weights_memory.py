"""weights-memory: the weights, and the cache of one request of max_context tokens, have to fit.

Weights: billions of parameters in the model's name x 10^9 x bits / 8. Bits: 4.5 for NVFP4 (4 and a scale of 8 for each
16), 8 for FP8, 16 otherwise, 3.4 for GGUF Q3, 4.5 for Q4.
Cache: 2 (K and V) x kv_layers x max(kv_heads, tp) x head_dim x bytes x max_context. A head is on every GPU where there
are more GPUs than heads. Bytes: 1 for fp8 and int8, 2 otherwise; half of that is never assumed.
Room: requires.gpus x requires.vram_gib / dp x the share that the words give the engine.

Both are lower bounds, so what is rejected here never fits: states of linear layers, activations, graphs and pages come
on top. Measured: 10.87 GiB of a GPU held 612,157 tokens of Qwen3.6-27B (16 such layers, 4 heads of 256, fp8, tp 2, one
more layer for MTP), 19.1 kB a token, where this says 16.4 kB (noonghunna/club-3090, issue 74)."""

from __future__ import annotations

import re

from ...box import Box
from ...frozen import Recipe
from ...options import pairs
from ..rule import Rule

_BITS = (("q2", 2.6), ("q3", 3.4), ("q4", 4.5), ("q5", 5.5), ("q6", 6.5), ("q8", 8.5), ("nvfp4", 4.5), ("fp4", 4.5),
         ("fp8", 8.0), ("awq", 4.2), ("gptq", 4.2), ("int4", 4.2))
#: Longer than any published model takes (2026-11): 1M tokens, with room.
_MOST_CONTEXT = 2_097_152
_GIB = 2**30


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.max_context is not None and recipe.max_context > _MOST_CONTEXT:
        return f"max_context is {recipe.max_context}; expected at most {_MOST_CONTEXT}"
    room = recipe.requires.vram_gib
    if room is None or not recipe.requires.gpus:
        return None
    options = dict(pairs(recipe.serve.args))
    held = recipe.requires.gpus * room / recipe.parallel.dp * _share(options)
    weights, cache = _weights(recipe), _cache(recipe, options)
    if weights is not None and weights > held:
        return f"{_size(recipe)}B parameters of {_bits(recipe):g} bits are {weights:.0f} GiB, and a replica's GPUs " \
               f"have {held:.0f} GiB"
    if cache is not None and (weights or 0.0) + cache > held:
        return f"a request of max_context {recipe.max_context} takes {cache:.1f} GiB of KV cache beside " \
               f"{weights or 0.0:.0f} GiB of weights, and a replica's GPUs have {held:.0f} GiB"
    return None


def _size(recipe: Recipe) -> str | None:
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)B(?!\w)", recipe.model.id.replace("-", " ").replace("_", " "))
    return found[1] if found else None


def _bits(recipe: Recipe) -> float:
    named = f"{recipe.model.format or ''} {recipe.model.id}".lower()
    return next((found for word, found in _BITS if word in named), 16.0)


def _weights(recipe: Recipe) -> float | None:
    size = _size(recipe)
    return None if size is None else float(size) * 1e9 * _bits(recipe) / 8 / _GIB


def _cache(recipe: Recipe, options: dict[str, str | None]) -> float | None:
    model = recipe.model
    if not (model.kv_layers and model.kv_heads and model.head_dim and recipe.max_context):
        return None
    kind = options.get("--kv-cache-dtype") or options.get("--cache-type-k") or "auto"
    # "auto" takes fp8 where the checkpoint has scales for it, as modelopt's have.
    small = kind.startswith(("fp8", "int8", "q8", "q4", "nvfp4", "fp4", "turboquant")) or (
        kind == "auto" and model.format == "modelopt_fp4")
    heads = max(model.kv_heads, recipe.parallel.tp)
    return 2 * model.kv_layers * heads * model.head_dim * (1 if small else 2) * recipe.max_context / _GIB


def _share(options: dict[str, str | None]) -> float:
    """Return the share of memory that the words leave to the engine; 1.0 where they state none or nonsense
    (option-value tells)."""
    stated = options.get("--gpu-memory-utilization") or options.get("--mem-fraction-static") or "1"
    share = float(stated) if re.fullmatch(r"[01]?\.?\d*", stated) and stated.strip(".") else 1.0
    return share if 0 < share <= 1 else 1.0


RULE = Rule(
    "weights-memory", "reject",
    "weights and the cache of one longest request that are larger than the memory of a replica's GPUs cannot be held",
    "parameters x bits / 8, and vLLM 0.33.0 v1/kv_cache_interface.py (2 x heads x head size x bytes a token and "
    "layer); NVFP4 has a scale of 8 bits for 16 values (NVIDIA), 2026-11-23",
    violation,
    unbounded="it is arithmetic: the least bytes that any engine needs",
)
