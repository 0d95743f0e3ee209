"""speculation-args: what the recipe says of speculation and what the engine is told must agree, or another figure is
measured.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, has

_OPTIONS = ("--speculative-config", "-sc", "--speculative-algorithm", "--speculative-algo", "--model-draft", "-md",
            "--spec-type")


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if (recipe.status == "draft" and not recipe.serve.args) or recipe.serve.command == ():
        return None
    stated = has(recipe, *_OPTIONS)
    if stated == (recipe.speculative.method == "none"):
        return f"speculative.method is {recipe.speculative.method}, args {'have' if stated else 'have no'} speculation"
    return None


RULE = Rule(
    "speculation-args", "reject",
    "what the recipe says of speculation and what the engine is told must agree, or another figure is measured",
    "vLLM --speculative-config, SGLang --speculative-algorithm, llama.cpp --model-draft: their documentation, "
    "2026-11",
    violation,
    unbounded="it compares the recipe's own fields with its words",
)
