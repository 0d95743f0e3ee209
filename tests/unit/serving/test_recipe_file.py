"""The frozen recipe on the box: strict, and errors that name the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.recipes.frozen import SCHEMA
from tunecheck.serving.plan import fits, numbers, plan_for
from tunecheck.serving.recipe_file import read_recipe
from tunecheck.serving.verdict import Want

_RECIPE = {"id": "lab", "engine": {"name": "llama.cpp"}, "model": {"id": "ours/tiny"}, "status": "golden",
           "expected": {"value": 198, "counted_by": "usage_wallclock", "ttft_s": {"4096": 1.5}},
           "serve": {"port": 30001, "args": ["--a"]}, "canaries": [{"prompt": "p", "expect": "e", "context": 800}]}


def _write(path: Path, **changes: object) -> str:
    (path / "r.json").write_text(json.dumps({"schema": SCHEMA, "digest": "sha256:1", **_RECIPE, **changes}))
    return str(path / "r.json")


def test_a_recipe_is_read(tmp_path: Path) -> None:
    recipe, digest = read_recipe(_write(tmp_path))
    assert (recipe.id, recipe.expected.value, recipe.expected.ttft_s, digest) == ("lab", 198.0, {4096: 1.5}, "sha256:1")
    assert recipe.canaries[0].context == 800 and recipe.serve.args == ("--a",)
    assert Want.of(recipe).golden
    assert plan_for("boot", recipe, None, None, 0.5).canaries[0].context == 400


@pytest.mark.parametrize(("changes", "says"), [
    ({"engin": {}}, "unknown key 'engin'"), ({"model": {}}, "recipe.model lacks id"),
    ({"serve": {"port": "x"}}, "recipe.serve.port is 'x'; expected int"), ({"schema": "x"}, "not a frozen recipe"),
    ({"expected": {"ttft_s": {"x": 1}}}, "expected a number"), ({"engine": 3}, "recipe.engine is no object")])
def test_what_cannot_be_used(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_recipe(_write(tmp_path, **changes))


def test_a_draft_or_a_published_figure_refuses_nothing(tmp_path: Path) -> None:
    assert not Want.of(read_recipe(_write(tmp_path, status="pinned"))[0]).golden
    published = {"value": 198, "counted_by": "chars_div_4"}
    assert not Want.of(read_recipe(_write(tmp_path, expected=published))[0]).golden


@pytest.mark.parametrize(("points", "limit", "taken", "beyond"), [
    ((4096, 16384, 0), 8192, (4096, 8112), (16384,)), ((4096, 0), None, (4096,), ()), ((0,), 80, (), ()),
    ((), 8192, (), ())])
def test_the_ladder_ends_at_the_models_limit(points: tuple[int, ...], limit: int | None, taken: tuple[int, ...],
                                             beyond: tuple[int, ...]) -> None:
    assert fits(points, limit, 80) == (taken, beyond)


@pytest.mark.parametrize("text", ["", "4k", "0", "1,,2", "-4", "max4", "9" * 9])
def test_bad_lists(text: str) -> None:
    with pytest.raises(UsageError, match="expected numbers"):
        numbers("--ladder", text)
