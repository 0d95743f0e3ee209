"""gpu-topology: the figure was measured on GPUs that are joined so: 198 behind one switch, 168 across the CPU."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown


def violation(recipe: Recipe, box: Box | None) -> str | None:
    wanted, count = recipe.requires.topology, recipe.requires.gpus
    if box is None or wanted == "any" or count < 2:
        return None
    good = box.group(count, "PIX") if wanted == "PIX" else box.enough(
        count, lambda board: None if board.nvlinks is None else board.nvlinks > 0)
    if good is None:
        return Unknown(f"how the boards are joined is not known; expected {count} of them joined by {wanted}")
    return None if good else f"no {count} GPUs of this box are joined by {wanted}"


RULE = Rule(
    "gpu-topology", "reject",
    "the figure was measured on GPUs that are joined so: 198 behind one switch, 168 across the CPU",
    "author of the 198 tok/s configuration, 2026-04-08 (part of the gap is other tuning, by his own later word)",
    violation, asks_box=True,
    unbounded="it is about the hardware, not about an engine",
)
