"""ttft-context: a prompt of that size plus its answer does not fit into max_context."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule

#: Tokens of an answer beside the prompt.
_ANSWER = 64


def violation(recipe: Recipe, box: Box | None) -> str | None:
    limit = recipe.max_context
    long = [point for point in recipe.expected.ttft_s if limit is not None and point + _ANSWER > limit]
    return f"expected.ttft_s has {', '.join(map(str, sorted(long)))}, max_context is {limit}" if long else None


RULE = Rule(
    "ttft-context", "warn",
    "a prompt of that size plus its answer does not fit into max_context",
    "the 198 tok/s configuration states 131K as its maximum and a TTFT at 150K, 2026-04-08",
    violation,
    unbounded="it is arithmetic of the recipe's own fields",
)
