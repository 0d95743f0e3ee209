"""option-nowhere: where the version is not one whose table is known, a word that no known version takes is told, and
a word that only some take where the recipe has no bounds; of a fork, that no table is its own; and everywhere a word
that is short for another."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ...options import Table, exact, pairs, refused, tables
from ..rule import Rule


def violation(recipe: Recipe, box: Box | None) -> str | None:
    known, own = tables(recipe.engine.name), exact(recipe.engine.name, recipe.engine.version)
    if not known or recipe.serve.command == ():
        return None
    table = own or known[-1]
    short = [f"{option} for {table.short_for(option)}" for option, _ in pairs(recipe.serve.args)
             if table.short_for(option)]
    if recipe.engine.fork:
        return _of_fork(recipe, known, short)
    if short:
        return f"args have {', '.join(short)}: the parser completes it until a version has two such options"
    if own:
        return None
    if found := _nowhere(recipe, known):
        return f"none of {recipe.engine.name} {_versions(known)} knows {', '.join(found)}: a fork's, or a mistake"
    return None if recipe.engine.version or recipe.engine.versions else _some(recipe, known)


def _of_fork(recipe: Recipe, known: tuple[Table, ...], short: list[str]) -> str:
    """Return the sentence about a fork. There is always one: that the words are those of releases is no proof that the
    fork takes them."""
    named = recipe.engine.name
    found = [*_nowhere(recipe, known), *short]
    what = f"; no release ({_versions(known)}) knows {', '.join(found)}" if found else ""
    return (f"engine.fork is {recipe.engine.fork}: the tables are of releases of {named} and say nothing of it{what}; "
            f"once it is pinned, ask the image: tunecheck recipe lint {recipe.id} --ask-image")


def _nowhere(recipe: Recipe, known: tuple[Table, ...]) -> list[str]:
    found = [option for option, _ in pairs(recipe.serve.args) if not any(each.takes(option) for each in known)]
    for option, value in pairs(recipe.serve.args):
        every = {choice for each in known for choice in each.choices(option) or ()}
        if every and value is not None and value not in every:
            found.append(f"{option} {value}")
    return found + [each for each in recipe.env if each.startswith(("VLLM_", "SGLANG_"))
                    and not any(each in (table.variables or ()) for table in known)]


def _some(recipe: Recipe, known: tuple[Table, ...]) -> str | None:
    """Return the sentence where the recipe has neither version nor bounds, and a release refuses a word that others
    take: then the recipe does not say which engine it is for."""
    not_all = {table.version: word for table in known if (word := refused(recipe.serve.args, table))}
    if not not_all or len(not_all) == len(known):
        return None
    version, word = next(iter(not_all.items()))
    return (f"{recipe.engine.name} {version} does not take {word}, others do: state engine.version, or bounds in "
            "engine.versions")


def _versions(known: tuple[Table, ...]) -> str:
    return ", ".join(each.version for each in known)


RULE = Rule(
    "option-nowhere", "warn",
    "a word that no known version takes is a mistake, or belongs to a fork whose image has to be named",
    "tables generated from the wheels of vLLM 0.17.0, 0.18.0, 0.19.1, 0.27.1 and 0.33.0 and SGLang 0.5.23, 2026-11-23",
    violation,
    unbounded="it asks the tables of all known releases",
)
