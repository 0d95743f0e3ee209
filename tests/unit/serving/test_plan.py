"""What is asked, and what a recipe makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.recipes.frozen import Canary, Engine, Expected, Model, Recipe
from tunecheck.recipes.stored import load_recipe, to_json
from tunecheck.serving.plan import fits, numbers, plan_for
from tunecheck.serving.verdict import Want

_RECIPE = Recipe("lab", Engine("llama.cpp"), Model("ours/tiny"), status="golden",
                 expected=Expected(value=198.0, counted_by="usage_wallclock", ttft_s={4096: 1.5}),
                 canaries=(Canary("p", "e", context=800),))


def test_a_recipe_as_it_lands_on_the_box(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(to_json(_RECIPE))
    recipe, _ = load_recipe(str(tmp_path / "recipe.json"))
    assert Want.of(recipe) == Want(_RECIPE.expected, True)
    assert plan_for("boot", recipe, None, None, 0.5).canaries[0].context == 400
    assert plan_for("full", None, None, None, 1.0).ladder == (4096, 16384, 58368, 0)


def test_a_pinned_recipe_or_a_published_figure_refuses_nothing() -> None:
    assert not Want.of(replace(_RECIPE, status="pinned")).golden
    assert not Want.of(replace(_RECIPE, expected=Expected(value=198.0, counted_by="chars_div_4"))).golden
    assert Want.of(None) == Want()


@pytest.mark.parametrize(("points", "limit", "taken", "beyond"), [
    ((4096, 16384, 0), 8192, (4096, 8112), (16384,)), ((4096, 0), None, (4096,), ()), ((0,), 80, (), ()),
    ((), 8192, (), ())])
def test_the_ladder_ends_at_the_models_limit(points: tuple[int, ...], limit: int | None, taken: tuple[int, ...],
                                             beyond: tuple[int, ...]) -> None:
    assert fits(points, limit, 80) == (taken, beyond)


@pytest.mark.parametrize("text", ["", "4k", "0", "1,,2", "-4", "max4", "9" * 9])
def test_bad_lists(text: str) -> None:
    with pytest.raises(UsageError, match=rf"^--ladder {text}: .*\b4K\b"):
        numbers("--ladder", text)
