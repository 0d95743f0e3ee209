"""golden-counted: only a figure of our own counter (usage over wall clock) may refuse a box."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.status != "golden":
        return None
    if recipe.expected.counted_by != "usage_wallclock" or recipe.expected.value is None:
        return (f"status is golden, expected.counted_by {recipe.expected.counted_by}; where a reference box serves it, "
                "run: tunecheck accept --golden golden.json")
    return None


RULE = Rule(
    "golden-counted", "reject",
    "only a figure of our own counter (usage over wall clock) may refuse a box",
    "four of the published figures divide characters by four: 198 was 157.5 by the author's own curl, 2026-04-08",
    violation, overridable=False,
    unbounded="it is about tunecheck, not about an engine",
)
