"""gpu-memory: weights, cache and graphs were fitted into that much memory per GPU."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown

#: Of the nominal size: RTX PRO 6000, 96 GB, shows 97887 MiB; B200, 180 GB, shows 183359 MiB.
_SHOWN = 0.97


def violation(recipe: Recipe, box: Box | None) -> str | None:
    wanted = recipe.requires.vram_gib
    if box is None or wanted is None:
        return None
    least = wanted * 1024 * _SHOWN
    good = box.enough(recipe.requires.gpus, lambda board: None if board.memory_mib is None
                      else board.memory_mib >= least)
    if good is None:
        return Unknown("the memory of the boards is not known")
    if good:
        return None
    shown = ", ".join("unknown" if board.memory_mib is None else f"{board.memory_mib / 1024:.0f}"
                      for board in box.boards.value or ())
    return (f"the recipe needs {wanted} GiB on each of {recipe.requires.gpus} GPUs; "
            + (f"this box's have {shown}" if shown else "this box has none"))


RULE = Rule(
    "gpu-memory", "reject",
    "weights, cache and graphs were fitted into that much memory per GPU",
    "the recipe's own requires.vram_gib; a board shows up to 3 % less than it is sold as (97887 MiB of 96 GB), "
    "2026-11",
    violation, asks_box=True,
    unbounded="it is about the hardware, not about an engine",
)
