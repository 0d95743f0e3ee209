"""secret-stated: a recipe is shown, copied and kept in reports: keys and tokens come from files."""

from __future__ import annotations

import re

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule

_SECRET = re.compile(r"(?i)(api[_-]?key|(hf|hub|auth|access)[_-]token|secret([_-]access[_-]key)?|"
                     r"access[_-]key([_-]id)?|password)$")
#: Tokens by their own form: Hugging Face, AWS, OpenAI, GitHub.
_VALUE = re.compile(r"\b(hf_[A-Za-z0-9]{8,}|AKIA[0-9A-Z]{12,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,})")


def violation(recipe: Recipe, box: Box | None) -> str | None:
    names = [name for name in recipe.env if _SECRET.search(name)]
    names += [word.partition("=")[0] for word in recipe.serve.args if _SECRET.search(word.partition("=")[0])
              and word.startswith("--") and "file" not in word]
    given = [("args", word) for word in recipe.serve.args] + list(recipe.env.items())
    names += [f"{where} ({value[:4]}...)" for where, value in given if _VALUE.search(value)]
    return f"{', '.join(names)} would hold a secret; remove it" if names else None


RULE = Rule(
    "secret-stated", "reject",
    "a recipe is shown, copied and kept in reports: keys and tokens come from files",
    "tunecheck's own rule; the engine's key is mounted or read from an environment file",
    violation, overridable=False,
    unbounded="it is about the recipe's text, not about an engine",
)
