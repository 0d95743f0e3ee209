"""option-known: the engine of the version that the recipe names, and every known release within its bounds, takes every
word, value and variable of it."""

from __future__ import annotations

from collections.abc import Sequence

from ....util.suggestions import nearest
from ...box import Box
from ...frozen import Recipe
from ...options import Table, meant, refused
from ..rule import Rule

__all__ = ["RULE", "unknown_words", "violation"]


_MANY = 12


def violation(recipe: Recipe, box: Box | None) -> str | None:
    engine = recipe.engine
    if recipe.serve.command == () or engine.fork:
        return None
    found = (unknown_words(recipe, table, f"{table.engine} {table.version}")
             for table in meant(engine.name, engine.version, engine.versions))
    if said := next((each for each in found if each), None):
        return said if engine.version else f"{said}; engine.versions is {engine.versions}: take it out of the bounds"
    return None


def unknown_words(recipe: Recipe, table: Table, name: str) -> str | None:
    """Return a sentence about the first word, value or variable of the recipe that the table lacks, None where it has
    all. ``name``: the engine that the sentence names."""
    if word := refused(recipe.serve.args, table):
        option, _, value = word.partition(" ")
        choices = table.choices(option)
        if not value or not choices:
            return f"{name} has no option {option}"
        return f"{name} takes {option} {_some(choices, value)}, not {value}"
    if table.variables is None:
        return None
    void = [each for each in recipe.env if each.startswith(("VLLM_", "SGLANG_")) and each not in table.variables]
    return f"{name} reads no variable {', '.join(void)}" if void else None


def _some(choices: Sequence[str], value: str) -> str:
    """Return the choices as text: all of a few; of many those that look like the value."""
    near = nearest(value, choices, 4) if len(choices) > _MANY else []
    return ", ".join(near) if near else ", ".join(choices[:_MANY])


RULE = Rule(
    "option-known", "reject",
    "an engine ends at a word that it does not know, and silently passes over a variable",
    "tables generated from the wheels of vLLM 0.17.0, 0.18.0, 0.19.1, 0.27.1 and 0.33.0 and SGLang 0.5.23, 2026-11-23",
    violation,
    unbounded="it asks the table of the recipe's own release",
)
