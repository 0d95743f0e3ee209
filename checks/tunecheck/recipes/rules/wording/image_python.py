"""image-python: vLLM before 0.20.0 takes Python up to 3.13, 0.20.0 and later up to 3.14; the image's Python counts, not
the host's.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ...options import covers, within
from ..bounds import Bounds
from ..rule import Rule

#: Releases whose wheels take 3.14.
_LATER = ">=0.20.0"


def violation(recipe: Recipe, box: Box | None) -> str | None:
    engine = recipe.engine
    if engine.name != "vllm" or engine.python is None:
        return None
    # What no release is named for may be an older one.
    later = within(engine.version, _LATER) if engine.version else bool(
        engine.versions and covers(_LATER, engine.versions))
    newest = 14 if later else 13
    if tuple(map(int, engine.python.split("."))) <= (3, newest):
        return None
    return f"engine.python is {engine.python}; expected 3.{newest} or older" + (
        "" if later or engine.python != "3.14" else ", or engine.version 0.20.0 or later")


RULE = Rule(
    "image-python", "reject",
    "vLLM's wheels and the numba that they ask for take Python up to 3.13, from 0.20.0 on up to 3.14; the image's"
    " Python counts, not the host's",
    "Requires-Python of the wheels, 2026-11-23; report of the single-GPU 31 tok/s configuration, 2026-03",
    violation,
    bounds=Bounds(
        {"vllm": ">=0.16.0,<0.34.0"},
        "Requires-Python of the wheels: <3.14 in 0.16.0 to 0.19.1, <3.15 in 0.20.0 to 0.33.0, read 2026-11-23"),
)
