"""Every compatibility rule: a recipe that passes it, and changed ones that it refuses, with the reason. A case is
cases/<rule>.yml:

recipe:  a shipped recipe, which the rule has nothing to say about (with ``change``, where given)
change:  {part: {field: value}} on top of it, as in recipe.json; a mapping's keys are merged
fine:    other changes that the rule leaves alone
bad:     change, args (words added to serve.args), box (a machine as in tests/unit/checks), outcome if not the rule's
         own, and names: the values that it has to name, whatever the words
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from tests.unit.checks.machines import build, spec_of

from tunecheck.facts import codec
from tunecheck.facts.snapshot import gather
from tunecheck.model.fact import known
from tunecheck.recipes.box import Box, box_of
from tunecheck.recipes.frozen import Recipe
from tunecheck.recipes.load import load, names
from tunecheck.recipes.model import Bounds, Engine
from tunecheck.recipes.options import covers, meant, overlap, pairs, refused, tables
from tunecheck.recipes.rules import RULES, judge
from tunecheck.recipes.rules.rule import Rule, Verdict

CASES = Path(__file__).parent / "cases"
ENGINES = get_args(Engine.model_fields["name"].annotation)
BOUNDS = get_args(Bounds)[1].pattern
KEYS = {"change", "args", "box", "outcome", "names"}


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
        assert [name for name in case["names"] if name not in verdicts[0].text] == [], verdicts[0].text
        assert RULES[rule].reason in verdicts[0].message and RULES[rule].source in verdicts[0].message


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_says_which_releases_it_is_true_of(rule: Rule) -> None:
    """Or why that does not matter. One that nobody bounded would refuse releases that nobody looked at."""
    if rule.bounds is None:
        assert len(rule.unbounded) > 20, "state the releases that it is true of, or why it is true of all"
        return
    assert not rule.unbounded and not rule.asks_box and rule.bounds.shown
    for engine, versions in [*rule.bounds.shown.items(), *rule.bounds.ended.items()]:
        assert engine in ENGINES and re.fullmatch(BOUNDS, versions), (engine, versions)
    for engine, versions in rule.bounds.ended.items():
        assert not overlap(versions, rule.bounds.shown.get(engine, "<0.0.0"))
    assert re.search(r"20\d\d-\d\d", rule.bounds.source), "a source has its date"


@pytest.mark.parametrize("rule", [each for each in RULES if RULES[each].bounds])
def test_a_release_that_nobody_looked_at_is_warned_of(rule: str) -> None:
    """Whatever a case of the rule has: with a release beyond all bounds it refuses nothing."""
    data = yaml.safe_load((CASES / f"{rule}.yml").read_text())
    for case in data["bad"]:
        change = merged(case.get("change", {}), {"engine": {"version": "99.0.0", "versions": None}})
        found = said(rule, changed(shipped(data["recipe"]), {"change": data.get("change", {})}),
                     {**{key: case[key] for key in case if key not in ("names", "outcome")}, "change": change})
        assert {each.outcome for each in found} <= {"warn"}
        assert all("99.0.0" in each.text and str(RULES[rule].bounds) in each.text for each in found)


_AUTO: dict[str, Any] = {"engine": {"moe_backend": "auto"}}
_SAMPLER: dict[str, Any] = {"env": {"VLLM_USE_FLASHINFER_SAMPLER": "1"}}
_MTP: dict[str, Any] = {"speculative": {"method": "mtp", "tokens": 2}}
_B12X: dict[str, Any] = {"engine": {"moe_backend": "b12x"}, "model": {"format": "compressed-tensors"}}


@pytest.mark.parametrize(("rule", "change", "version", "versions", "outcome"), [
    ("cutlass-auto", _AUTO, "0.16.0", None, "reject"), ("cutlass-auto", _AUTO, "0.19.1", None, "reject"),
    ("cutlass-auto", _AUTO, "0.20.0", None, None), ("cutlass-auto", _AUTO, "0.33.0", None, None),
    ("cutlass-auto", _AUTO, "0.15.1", None, "warn"), ("cutlass-auto", _AUTO, "0.34.0", None, "warn"),
    ("cutlass-auto", _AUTO, None, ">=0.19.0,<0.28.0", "reject"),
    ("cutlass-auto", _AUTO, None, ">=0.20.0,<0.28.0", None),
    ("cutlass-auto", _AUTO, None, ">=0.33.0", "warn"), ("cutlass-auto", _AUTO, None, "<0.16.0", "warn"),
    ("cutlass-auto", _AUTO, None, None, "reject"),
    ("flashinfer-sampler", _SAMPLER, "0.20.2", None, "reject"), ("flashinfer-sampler", _SAMPLER, "0.21.0", None, None),
    ("marlin-speculation", _MTP, "0.17.0rc1", None, "reject"), ("marlin-speculation", _MTP, "0.27.1", None, "warn"),
    ("b12x-format", _B12X, "0.18.0", None, "reject"), ("b12x-format", _B12X, "0.33.0", None, None),
    ("b12x-format", _B12X, "0.27.1", None, "warn"),
    ("image-python", {"engine": {"python": "3.14"}}, "0.19.1", None, "reject"),
    ("image-python", {"engine": {"python": "3.14"}}, "0.20.0", None, None),
    ("image-python", {"engine": {"python": "3.14"}}, None, ">=0.20.0", None),
    ("image-python", {"engine": {"python": "3.14"}}, None, ">=0.19.0", "reject"),
    ("image-python", {"engine": {"python": "3.15"}}, "0.33.0", None, "reject"),
    ("tensorrt-sm120", {"engine": {"name": "tensorrt-llm"}}, "1.2.0", None, "reject"),
    ("tensorrt-sm120", {"engine": {"name": "tensorrt-llm"}}, "1.3.0rc17", None, "warn"),
    ("tensorrt-sm120", {"engine": {"name": "tensorrt-llm"}, "model": {"format": "fp8"}}, "1.2.0", None, None),
])
def test_a_rule_holds_for_its_releases_alone(rule: str, change: dict[str, Any], version: str | None,
                                             versions: str | None, outcome: str | None) -> None:
    found = said(rule, shipped("qwen35-397b-vllm-marlin-4x"),
                 {"change": merged(change, {"engine": {"version": version, "versions": versions}})})
    assert [each.outcome for each in found] == ([] if outcome is None else [outcome])
    told = (version is None and versions is None) or outcome == "warn"
    assert all((str(RULES[rule].bounds) in each.text) == told for each in found), "what it is true of"


@pytest.mark.parametrize(("one", "other", "both", "whole"), [
    (">=0.17.0,<0.28.0", ">=0.27.0", True, False), (">=0.17.0,<0.28.0", ">=0.28.0", False, False),
    ("<1", "<0.5", True, True), (">=0.17", ">=0.17.0,<0.18", True, True), ("<0.17.0,>=0.16", "<0.16.1", True, False),
    (">=1.0,<0.5", ">=0.1", False, False)])
def test_bounds(one: str, other: str, both: bool, whole: bool) -> None:
    assert (overlap(one, other), overlap(other, one), covers(one, other)) == (both, both, whole)


@pytest.mark.parametrize("name", names())
def test_no_shipped_recipe_is_rejected(name: str) -> None:
    assert [each.message for each in judge(shipped(name)) if each.outcome == "reject"] == []


def test_an_override_is_named_with_its_reason_and_never_silent() -> None:
    recipe = changed(shipped("qwen35-397b-vllm-marlin-4x"),
                     {"change": {"parallel": {"ep": 4}, "overrides": {"expert-parallel-pcie": "8 GPUs, patched"}}})
    verdict = next(each for each in judge(recipe) if each.rule.id == "expert-parallel-pcie")
    assert (verdict.outcome, verdict.why) == ("overridden", "8 GPUs, patched")
    assert verdict.message.endswith("8 GPUs, patched")


def test_a_box_without_gpus_is_told_so() -> None:
    box = Box(known((), "PCI"))
    (said,) = [each for each in judge(shipped("qwen35-122b-sglang-b12x-nextn-2x"), box) if each.rule.id == "gpu-memory"]
    assert said.outcome == "reject" and "96 GiB" in said.text and "2 GPUs" in said.text


def test_without_a_box_its_rules_are_silent() -> None:
    asking = {rule.id for rule in RULES.values() if rule.asks_box}
    assert {each.rule.id for name in names() for each in judge(shipped(name))}.isdisjoint(asking)
    assert len(asking) == 6


@pytest.mark.parametrize(("bounds", "named"), [
    (">=0.17.0,<0.28.0", ()),
    (">=0.17.0,<0.33.0", ()),
    ("<0.18", ()),
    (">=0.17.0", ("vllm 0.33.0", "--calculate-kv-scales", "engine.versions", ">=0.17.0")),
    (">=0.30.0,<1.0", ("vllm 0.33.0", "--calculate-kv-scales")),
])
def test_every_known_release_within_the_bounds_takes_the_words(bounds: str, named: tuple[str, ...]) -> None:
    recipe = changed(shipped("qwen35-397b-vllm-marlin-4x"), {"change": {"engine": {"versions": bounds}}})
    found = [each.text for each in judge(recipe) if each.rule.id == "option-known"]
    assert len(found) == bool(named) and all(name in text for text in found for name in named), found


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
        short = {word for table in known for option, _ in pairs(recipe.serve.args) if (word := table.short_for(option))}
        assert told == [] or any(word in told[0] for word in short), (name, told)
        for table in known:
            assert refused(recipe.serve.args, table) is None, (name, table.version)
