"""The frozen recipe survives its file, and an altered file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.recipes.frozen import Canary, Engine, Expected, Image, Model, Recipe
from tunecheck.recipes.stored import digest_of, load_recipe, to_json

RECIPE = Recipe("tiny", Engine("llama.cpp"), Model("a/b", "0" * 40, files={"model.gguf": "sha256:" + "1" * 64}),
                Image("localhost/tiny", None, "sha256:" + "2" * 64), canaries=(Canary("2 + 2 =", "4"),),
                expected=Expected(value=198.0, ttft_s={4096: 1.8}), status="pinned")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(to_json(RECIPE))
    assert load_recipe(str(file)) == (RECIPE, digest_of(RECIPE))


@pytest.mark.parametrize(("change", "says"), [
    (lambda text: text.replace('"0000', '"1000'), "was altered"),
    (lambda text: text.replace("tunecheck/recipe/1", "tunecheck/recipe/2"), "is not a tunecheck/recipe/1"),
    (lambda text: text.replace('"status"', '"state"'), "is not a usable recipe"),
    (lambda text: text[:-5], "is not JSON"),
    (lambda text: "[" * 100_000, "is not JSON"),
    (lambda text: json.dumps([text]), "is not a tunecheck/recipe/1"),
])
def test_anything_else_is_refused(tmp_path: Path, change: object, says: str) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(change(to_json(RECIPE)))  # type: ignore[operator]
    with pytest.raises(UsageError, match=says):
        load_recipe(str(file))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_recipe(str(tmp_path / "none.json"))
