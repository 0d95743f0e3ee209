"""option-nowhere: where the version is not one whose table is known, a word that no known version takes is told; and
everywhere a word that is short for another."""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from ..options import exact, pairs, tables
from .rule import Rule


def says(recipe: Recipe, box: Box | None) -> str | None:
    known, own = tables(recipe.engine.name), exact(recipe.engine.name, recipe.engine.version)
    if not known or recipe.serve.command == ():
        return None
    table = own or known[-1]
    short = [f"{option} for {table.short_for(option)}" for option, _ in pairs(recipe.serve.args)
             if table.short_for(option)]
    if short:
        return f"args have {', '.join(short)}: the parser completes it until a version has two such options"
    if own:
        return None
    found = [option for option, _ in pairs(recipe.serve.args) if not any(each.takes(option) for each in known)]
    for option, value in pairs(recipe.serve.args):
        every = {choice for each in known for choice in each.choices(option) or ()}
        if every and value is not None and value not in every:
            found.append(f"{option} {value}")
    found += [each for each in recipe.env if each.startswith(("VLLM_", "SGLANG_"))
              and not any(each in (table.variables or ()) for table in known)]
    if not found:
        return None
    versions = ", ".join(each.version for each in known)
    return f"none of {recipe.engine.name} {versions} knows {', '.join(found)}: a fork's, or a mistake"


RULE = Rule(
    "option-nowhere", "warn",
    "a word that no known version takes is a mistake, or belongs to a fork whose image has to be named",
    "tables generated from the wheels of vLLM 0.17.0, 0.18.0, 0.19.1, 0.27.1 and 0.33.0 and SGLang 0.5.23, 2026-11-23",
    says,
)
