"""The frozen recipe survives its file, and an altered file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tunecheck.errors import Flaw, UsageError
from tunecheck.recipes.frozen import Canary, Engine, Expected, Image, Model, Recipe
from tunecheck.recipes.stored import digest_of, load_recipe, to_json

RECIPE = Recipe("tiny", Engine("llama.cpp"), Model("a/b", "0" * 40, files={"model.gguf": "sha256:" + "1" * 64}),
                Image("localhost/tiny", None, "sha256:" + "2" * 64), canaries=(Canary("2 + 2 =", "4"),),
                expected=Expected(value=198.0, ttft_s={4096: 1.8}), status="pinned")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(to_json(RECIPE))
    assert load_recipe(str(file)) == (RECIPE, digest_of(RECIPE))


@pytest.mark.parametrize(("change", "flaw"), [
    (lambda text: text.replace('"0000', '"1000'), Flaw.ALTERED),
    (lambda text: text.replace("tunecheck/recipe/1", "tunecheck/recipe/2"), Flaw.OTHER_KIND),
    (lambda text: text.replace('"status"', '"state"'), Flaw.WRONG_TYPE),
    (lambda text: text[:-5], Flaw.NOT_JSON),
    (lambda text: "[" * 100_000, Flaw.NOT_JSON),
    (lambda text: json.dumps([text]), Flaw.OTHER_KIND),
])
def test_anything_else_is_refused(tmp_path: Path, change: object, flaw: Flaw) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(change(to_json(RECIPE)))  # type: ignore[operator]
    with pytest.raises(UsageError, match=r"recipe\.json: ") as refused:
        load_recipe(str(file))
    assert refused.value.flaw is flaw


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json: ") as refused:
        load_recipe(str(tmp_path / "none.json"))
    assert refused.value.flaw is Flaw.MISSING
