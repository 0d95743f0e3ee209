"""draft: a draft is linted and never served."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ...to_pin import to_pin
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    return "status is draft" if recipe.status == "draft" else None


RULE = Rule(
    "draft", "warn",
    "a draft is linted and never served",
    "tunecheck's hand-off: only pinned and golden recipes pass the gate",
    violation,
    way_out=to_pin,
    unbounded="it is about tunecheck, not about an engine",
)
