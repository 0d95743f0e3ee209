"""Is all of a recipe on this box? `python -m tunecheck.app.recipe_on_box RECIPE MODELS ENGINE`, for the role inference.

Asked before a served model is stopped for a new one: what the gate asks too, without the pass; and whether the recipe
was made for these boards, which needs the driver and so is not asked at a start."""

from __future__ import annotations

import sys

from ..errors import TunecheckError
from ..gate.image import image_id
from ..gate.judge import Offer, of_box, of_recipe
from ..gate.model_files import problems
from ..gate.state import state
from ..host.live import LiveHost
from ..recipes.box import box_of
from ..recipes.stored import load_recipe
from .read_host import look


def main(recipe_file: str, models: str, engine: str) -> int:
    """Exit code 0 where all of the recipe is here, 1 with one line per reason, 2 where the recipe cannot be read."""
    try:
        recipe, _digest = load_recipe(recipe_file)
    except TunecheckError as error:
        print(error, file=sys.stderr)
        return 2
    door = LiveHost()
    try:
        wrong = tuple(f"{each.file} {each.text}" for model in recipe.models for each in problems(models, model))
        reasons = of_recipe(recipe, state(door), Offer(image_id(door, engine, recipe.image.image_id or "none"), wrong))
    finally:
        door.close()
    if not reasons:
        try:
            reasons = of_box(recipe, box_of(look("preflight", None, None)[1])) if recipe.requires.gpus else []
        except TunecheckError as error:
            print(error, file=sys.stderr)
            return 2
    for reason in reasons:
        print(reason.text, file=sys.stderr)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
