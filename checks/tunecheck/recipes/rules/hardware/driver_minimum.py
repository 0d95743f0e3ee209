"""driver-minimum: the image's CUDA needs at least that driver."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown


def violation(recipe: Recipe, box: Box | None) -> str | None:
    least = recipe.requires.driver_min
    if box is None or least is None:
        return None
    if box.driver.value is None:
        return Unknown(f"the driver's version is not known ({box.driver.why()})")
    if [int(part) for part in box.driver.value.split(".")] < [int(part) for part in least.split(".")]:
        return f"the recipe needs driver {least}, this box has {box.driver.value}"
    return None


RULE = Rule(
    "driver-minimum", "reject",
    "the image's CUDA needs at least that driver",
    "the recipe's own requires.driver_min",
    violation, asks_box=True,
    unbounded="it is about the image's CUDA, whose driver the recipe states",
)
