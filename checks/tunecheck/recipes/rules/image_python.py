"""image-python: vLLM needs numba, which does not run on Python 3.14 and newer; the image's Python counts, not the
host's.
"""

from __future__ import annotations

from ..box import Box
from ..frozen import Recipe
from .rule import Rule


def says(recipe: Recipe, box: Box | None) -> str | None:
    python = recipe.engine.python
    if recipe.engine.name == "vllm" and python is not None and tuple(map(int, python.split("."))) >= (3, 14):
        return f"engine.python is {python}; expected 3.13 or older"
    return None


RULE = Rule(
    "image-python", "reject",
    "vLLM needs numba, which does not run on Python 3.14 and newer; the image's Python counts, not the host's",
    "report of the single-GPU 31 tok/s configuration, 2026-03",
    says,
)
