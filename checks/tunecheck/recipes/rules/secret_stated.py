"""secret-stated: a recipe is shown, copied and kept in reports: keys and tokens come from files."""

from __future__ import annotations

import re

from ..box import Box
from ..frozen import Recipe
from .rule import Rule

_SECRET = re.compile(r"(?i)(api[_-]?key|(hf|hub|auth|access)_token|secret|password)$")


def says(recipe: Recipe, box: Box | None) -> str | None:
    names = [name for name in recipe.env if _SECRET.search(name)]
    names += [word.partition("=")[0] for word in recipe.serve.args if _SECRET.search(word.partition("=")[0])
              and word.startswith("--") and "file" not in word]
    return f"{', '.join(names)} would hold a secret; remove it" if names else None


RULE = Rule(
    "secret-stated", "reject",
    "a recipe is shown, copied and kept in reports: keys and tokens come from files",
    "tunecheck's own rule; the engine's key is mounted or read from an environment file",
    says, overridable=False,
)
