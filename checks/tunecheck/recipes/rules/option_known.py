"""option-known: the engine of the version that the recipe names takes every word, value and variable of it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..box import Box
from ..frozen import Recipe
from ..options import Table, exact, pairs
from .rule import Rule

__all__ = ["RULE", "says", "unknown_words"]


_MANY = 12


def says(recipe: Recipe, box: Box | None) -> str | None:
    table = exact(recipe.engine.name, recipe.engine.version)
    if table is None or recipe.serve.command == ():
        return None
    return unknown_words(recipe, table, f"{table.engine} {table.version}")


def unknown_words(recipe: Recipe, table: Table, name: str) -> str | None:
    """The first word, value or variable of the recipe that the table lacks; ``name``: of whom it is."""
    for option, value in pairs(recipe.serve.args):
        if not table.takes(option):
            return f"{name} has no option {option}"
        # A plug-in brings parsers of its own.
        plugged = option.endswith("-parser") and any("parser-plugin" in word for word in recipe.serve.args)
        choices = None if plugged else table.choices(option)
        if choices and value is not None and value not in choices:
            return f"{name} takes {option} {_some(choices, value)}, not {value}"
    if table.variables is None:
        return None
    void = [each for each in recipe.env if each.startswith(("VLLM_", "SGLANG_")) and each not in table.variables]
    return f"{name} reads no variable {', '.join(void)}" if void else None


def _some(choices: Sequence[str], value: str) -> str:
    """All of a few; of many those that look like it."""
    near = difflib.get_close_matches(value, choices, 4) if len(choices) > _MANY else []
    return ", ".join(near) if near else ", ".join(choices[:_MANY])


RULE = Rule(
    "option-known", "reject",
    "an engine ends at a word that it does not know, and silently passes over a variable",
    "tables generated from the wheels of vLLM 0.17.0, 0.18.0, 0.19.1, 0.27.1 and 0.33.0 and SGLang 0.5.23, 2026-11-23",
    says,
)
