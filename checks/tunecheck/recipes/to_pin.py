"""The next step for a recipe that is not pinned: the command, and what has to be stated before."""

from __future__ import annotations

import shlex
from pathlib import Path

from .frozen import Recipe
from .lock import pin_again

__all__ = ["SHIPPED", "stated_first", "to_pin"]

#: The recipes that this package brings.
SHIPPED = Path(__file__).parent


def to_pin(recipe: Recipe, which: str | None = None) -> str:
    """Return what pins the recipe: the command, behind what its source leaves open. ``which``: its id or file. Where a
    box is served a recipe that this package does not bring, nothing tells its file."""
    which = which or (recipe.id if (SHIPPED / f"{recipe.id}.yml").is_file() else "FILE")
    if recipe.image.ref is None and recipe.image.image_id is None:
        return ("nobody published its image, so it cannot be pinned as it is; where you have one: "
                f"{stated_first(which, 'image.ref')}")
    return f"run: {pin_again(which)}"


def stated_first(which: str, name: str) -> str:
    """Return how a part that a recipe leaves open is stated, and the recipe pinned then."""
    shipped = SHIPPED / f"{which}.yml"
    if not shipped.is_file():
        return f"state {name} in that file, then run: {pin_again(which)}"
    copy = f"{which}.yml"
    return f"cp {shlex.quote(str(shipped))} {copy}; state {name} in {copy}; then run: {pin_again(copy)}"
