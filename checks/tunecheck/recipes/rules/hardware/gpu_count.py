"""gpu-count: the split of the model needs that many GPUs."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if box is None:
        return None
    if box.boards.value is None:
        return Unknown(f"the GPUs cannot be counted ({box.boards.why()})")
    if len(box.boards.value) < recipe.requires.gpus:
        if box.more:
            return Unknown(f"the recipe needs {recipe.requires.gpus} GPUs; {len(box.boards.value)} are told of this "
                           "box, and there may be more")
        return f"the recipe needs {recipe.requires.gpus} GPUs, this box has {len(box.boards.value)}"
    return None


RULE = Rule(
    "gpu-count", "reject",
    "the split of the model needs that many GPUs",
    "the recipe's own requires.gpus",
    violation, asks_box=True,
    unbounded="it is about the hardware, not about an engine",
)
