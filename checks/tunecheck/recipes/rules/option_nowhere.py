"""option-nowhere: where the version is not one whose table is known, a word that no known version takes is told."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from ..options import exact, pairs, tables
from .rule import Rule


def says(recipe: Recipe, box: Box | None) -> str | None:
    known = tables(recipe.engine.name)
    if not known or exact(recipe.engine.name, recipe.engine.version) or recipe.serve.command == ():
        return None
    found = [option for option, _ in pairs(recipe.serve.args) if not any(each.takes(option) for each in known)]
    for option, value in pairs(recipe.serve.args):
        every = {choice for each in known for choice in each.choices(option) or ()}
        if every and value is not None and value not in every:
            found.append(f"{option} {value}")
    found += [each for each in recipe.env if each.startswith(("VLLM_", "SGLANG_"))
              and not any(each in table.variables for table in known)]
    if not found:
        return None
    versions = ", ".join(each.version for each in known)
    return f"none of {recipe.engine.name} {versions} knows {', '.join(found)}: a fork's, or a mistake"


RULE = Rule(
    "option-nowhere", "warn",
    "a word that no known version takes is a mistake, or belongs to a fork whose image has to be named",
    "tables generated from the wheels of vLLM 0.17.0, 0.18.0, 0.19.1 and 0.33.0 and SGLang 0.5.23, 2026-11-22",
    says,
)
