"""option-value: shares of memory lie between 0 and 1, JSON is JSON, and words agree with the recipe's fields."""

from __future__ import annotations

import json
import re

from ...box import Box
from ...frozen import Recipe
from ...options import pairs
from ..rule import Rule

_SHARES = ("--gpu-memory-utilization", "--mem-fraction-static")
#: GiB of /dev/shm: vLLM's and SGLang's documentation ask for more than docker's 64 MiB where GPUs work together.
_LEAST_SHM = 4
#: The first branch with RTX 50, RTX PRO Blackwell and B200 in its list of products.
_BLACKWELL = 570
#: config/speculative.py of 0.17.0, 0.18.0 and 0.19.1 has no dflash, that of 0.33.0 has.
_NO_DFLASH = (0, 19, 1)
_METHODS = {"NEXTN": "nextn", "EAGLE": "eagle", "EAGLE3": "eagle", "NGRAM": "ngram"}


def violation(recipe: Recipe, box: Box | None) -> str | None:
    for option, value in pairs(recipe.serve.args):
        if found := _value(recipe, option, value or ""):
            return found
    if found := _parsers(recipe):
        return found
    visible = recipe.env.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and len([each for each in visible.split(",") if each.strip()]) < recipe.requires.gpus:
        return f"CUDA_VISIBLE_DEVICES={visible} shows fewer GPUs than requires.gpus {recipe.requires.gpus}"
    several = recipe.parallel.tp * recipe.parallel.pp * recipe.parallel.dp > 1
    if several and recipe.serve.shm_gib is not None and recipe.serve.shm_gib < _LEAST_SHM:
        return f"serve.shm_gib is {recipe.serve.shm_gib}; expected {_LEAST_SHM} or more, where processes share memory"
    least = recipe.requires.driver_min
    if least and int(least.split(".")[0]) < _BLACKWELL and any(sm.split(".")[0] in ("10", "12")
                                                               for sm in recipe.requires.sm):
        return f"requires.driver_min is {least}; Blackwell needs {_BLACKWELL} or newer"
    version = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", recipe.engine.version or "")
    if recipe.engine.name == "vllm" and recipe.speculative.method == "dflash" and version and tuple(
            map(int, version.groups())) <= _NO_DFLASH:
        return f"vllm {recipe.engine.version} has no dflash; the word is first known in 0.33.0"
    tag = re.search(r":v(\d+\.\d+\.\d+)(?:[-_].*)?$", recipe.image.ref or "")
    if tag and recipe.engine.version and tag[1] != recipe.engine.version:
        return f"engine.version is {recipe.engine.version}, the image's tag says {tag[1]}"
    return None


def _parsers(recipe: Recipe) -> str | None:
    """Return what is wrong with the options of tool calls, None for nothing. vLLM reads tool calls only where it is
    told to call tools by itself (docs.vllm.ai, tool calling)."""
    options = dict(pairs(recipe.serve.args))
    if recipe.engine.name == "vllm" and ("--tool-call-parser" in options) != ("--enable-auto-tool-choice" in options):
        return "--tool-call-parser and --enable-auto-tool-choice belong together: either alone reads no tool call"
    return None


def _value(recipe: Recipe, option: str, value: str) -> str | None:
    if option in _SHARES and not (re.fullmatch(r"0?\.\d+|1(\.0+)?", value) and float(value) > 0):
        return f"{option} {value or 'without a value'}: expected a share above 0 and up to 1"
    if value.startswith(("{", "[")):
        try:
            held = json.loads(value)
        except (ValueError, RecursionError):
            return f"{option}: its value is no JSON: {value[:60]}"
        if option in ("--speculative-config", "-sc") and isinstance(held, dict):
            return _speculation(recipe, held.get("method"), held.get("num_speculative_tokens"))
    if option in ("--moe-backend", "--moe-runner-backend") and recipe.engine.moe_backend != value:
        stated = recipe.engine.moe_backend or "null"
        return f"{option} {value}, engine.moe_backend is {stated}; expected {value} in both"
    if option == "--speculative-algorithm" and value in _METHODS:
        return _speculation(recipe, _METHODS[value], None)
    return None


def _speculation(recipe: Recipe, method: object, tokens: object) -> str | None:
    stated = recipe.speculative
    if method is not None and method != stated.method:
        return f"args speculate by {method}, speculative.method is {stated.method}"
    if tokens is not None and tokens != stated.tokens:
        return f"args draft {tokens} tokens, speculative.tokens is {stated.tokens}"
    return None


RULE = Rule(
    "option-value", "reject",
    "a value that no engine takes, or that contradicts the recipe's own fields, makes another server than was stated",
    "vLLM 0.33.0 config/cache.py (0 < gpu_memory_utilization <= 1) and SGLang 0.5.23 server_args.py, 2026-11-22",
    violation,
    unbounded="it asks the table of the recipe's own release, and compares fields with words",
)
