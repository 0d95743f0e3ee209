"""gpu-capability: kernels are built per compute capability: 12.0, 12.1, 10.0 and 9.0 are different machines."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown, names


def violation(recipe: Recipe, box: Box | None) -> str | None:
    wanted = recipe.requires.sm
    if box is None or not wanted:
        return None
    good = box.enough(recipe.requires.gpus, lambda board: None if board.sm is None else board.sm in wanted)
    if good is None:
        return Unknown("the compute capability of the boards is not known: " + names(box))
    return None if good else f"the recipe is for {', '.join(wanted)}; this box has {names(box)}"


RULE = Rule(
    "gpu-capability", "reject",
    "kernels are built per compute capability: 12.0, 12.1, 10.0 and 9.0 are different machines",
    "NVIDIA, CUDA GPUs (compute capability), 2026-11",
    violation, asks_box=True,
    unbounded="it is about the hardware, not about an engine",
)
