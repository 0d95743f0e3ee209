"""Every compatibility rule: a recipe that passes it, and changed ones that it refuses, with the reason. A case is
cases/<rule>.yml:

recipe:  a shipped recipe, which the rule has nothing to say about (with ``change``, where given)
change:  {part: {field: value}} on top of it, as in recipe.json; a mapping's keys are merged
fine:    other changes that the rule leaves alone
bad:     change, args (words added to serve.args), box (a machine as in tests/unit/checks), outcome if not the rule's
         own, and what is said
"""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.checks.machines import build, spec_of

from tunecheck.facts import codec
from tunecheck.facts.fact import known
from tunecheck.facts.snapshot import gather
from tunecheck.recipes.box import Box, box_of
from tunecheck.recipes.frozen import Recipe
from tunecheck.recipes.load import load, names
from tunecheck.recipes.options import meant, refused, tables
from tunecheck.recipes.rules import RULES, judge
from tunecheck.recipes.rules.rule import Verdict

CASES = Path(__file__).parent / "cases"
KEYS = {"change", "args", "box", "outcome", "says"}


@cache
def shipped(name: str) -> Recipe:
    return load(name, pinned=False).frozen


def merged(base: Any, change: dict[str, Any]) -> Any:
    return {**base, **{key: merged(base.get(key, {}), value) if isinstance(value, dict) else value
                       for key, value in change.items()}}


def changed(recipe: Recipe, case: dict[str, Any]) -> Recipe:
    plain = merged(codec.encode(Recipe, recipe), case.get("change", {}))
    found: Recipe = codec.decode(Recipe, plain)
    args = (*found.serve.args, *case.get("args", ()))
    return dataclasses.replace(found, serve=dataclasses.replace(found.serve, args=args))


def boxed(case: dict[str, Any]) -> Box | None:
    if "box" not in case:
        return None
    frozen = spec_of(case["box"])
    return box_of(gather(build(case["box"]), frozen.spec if frozen else None, True))


def said(rule: str, recipe: Recipe, case: dict[str, Any]) -> list[Verdict]:
    assert set(case) <= KEYS, "an unknown key would test nothing"
    return [each for each in judge(changed(recipe, case), boxed(case)) if each.rule.id == rule]


def test_every_rule_has_a_case() -> None:
    assert {path.stem for path in CASES.glob("*.yml")} == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str) -> None:
    data = yaml.safe_load((CASES / f"{rule}.yml").read_text())
    assert set(data) <= {"recipe", "change", "fine", "bad"}
    base = changed(shipped(data["recipe"]), {"change": data.get("change", {})})
    for case in [{}, *data.get("fine", [])]:
        assert said(rule, base, case) == [], case
    for case in data["bad"]:
        verdicts = said(rule, base, case)
        assert [each.outcome for each in verdicts] == [case.get("outcome", RULES[rule].severity)], case
        assert case["says"] in verdicts[0].text
        assert RULES[rule].reason in verdicts[0].message and RULES[rule].source in verdicts[0].message


@pytest.mark.parametrize("name", names())
def test_no_shipped_recipe_is_rejected(name: str) -> None:
    assert [each.message for each in judge(shipped(name)) if each.outcome == "reject"] == []


def test_an_override_is_named_with_its_reason_and_never_silent() -> None:
    recipe = changed(shipped("qwen35-397b-vllm-marlin-4x"),
                     {"change": {"parallel": {"ep": 4}, "overrides": {"expert-parallel-pcie": "8 GPUs, patched"}}})
    verdict = next(each for each in judge(recipe) if each.rule.id == "expert-parallel-pcie")
    assert verdict.outcome == "overridden"
    assert verdict.message.endswith("; overridden: 8 GPUs, patched")


def test_a_box_without_gpus_is_told_so() -> None:
    box = Box(known((), "PCI"))
    (said,) = [each for each in judge(shipped("qwen35-122b-sglang-b12x-nextn-2x"), box) if each.rule.id == "gpu-memory"]
    assert said.outcome == "reject" and said.text == "the recipe needs 96 GiB on each of 2 GPUs; this box has none"


def test_without_a_box_its_rules_are_silent() -> None:
    asking = {rule.id for rule in RULES.values() if rule.asks_box}
    assert {each.rule.id for name in names() for each in judge(shipped(name))}.isdisjoint(asking)
    assert len(asking) == 6


@pytest.mark.parametrize(("bounds", "says"), [
    (">=0.17.0,<0.28.0", None),
    (">=0.17.0,<0.33.0", None),
    ("<0.18", None),
    (">=0.17.0", "vllm 0.33.0 has no option --calculate-kv-scales; engine.versions is >=0.17.0: take it out of"),
    (">=0.30.0,<1.0", "vllm 0.33.0 has no option --calculate-kv-scales"),
])
def test_every_known_release_within_the_bounds_takes_the_words(bounds: str, says: str | None) -> None:
    recipe = changed(shipped("qwen35-397b-vllm-marlin-4x"), {"change": {"engine": {"versions": bounds}}})
    found = [each.text for each in judge(recipe) if each.rule.id == "option-known"]
    assert found == [] if says is None else says in found[0]


def test_no_shipped_recipe_is_refused_by_a_release_that_it_may_mean() -> None:
    """A recipe without version and bounds means every release; a fork's none of them, and says so."""
    for name in names():
        recipe = shipped(name)
        engine = recipe.engine
        if recipe.serve.command == ():
            continue
        known = tables(engine.name) if engine.version is None and engine.versions is None else meant(
            engine.name, engine.version, engine.versions)
        told = [each.text for each in judge(recipe) if each.rule.id == "option-nowhere"]
        if engine.fork:
            assert told and engine.fork in told[0]
            assert any("fork" in each for each in load(name, pinned=False).source.unpinned), name
            continue
        assert told == [] or "args have" in told[0], (name, told)
        for table in known:
            assert refused(recipe.serve.args, table) is None, (name, table.version)
