"""figure-advisory: the expected figure was not counted from delivered tokens: it warns and never refuses a box."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    figure = recipe.expected
    if figure.value is not None and figure.counted_by != "usage_wallclock":
        how = "in a way that is not known" if figure.counted_by == "unknown" else f"by {figure.counted_by}"
        return (f"{figure.value:g} tok/s is counted {how}; where a reference box serves it, run: tunecheck accept "
                "--golden golden.json")
    return None


RULE = Rule(
    "figure-advisory", "warn",
    "the expected figure was not counted from delivered tokens: it warns and never refuses a box",
    "counting traps of benchmark tools: characters by four, stream chunks, requested lengths, 2026-11",
    violation,
    unbounded="it is about tunecheck, not about an engine",
)
