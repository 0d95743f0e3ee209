"""The frozen recipe as a file: its text, its digest, and reading it again."""

from __future__ import annotations

import hashlib
import json

from ..errors import Flaw, UsageError
from ..facts import codec
from ..facts.typed_file import read_typed, typed_text
from .frozen import SCHEMA, Recipe

__all__ = ["PATH", "digest_of", "load_recipe", "to_json"]

#: Where the role puts it.
PATH = "/etc/tunecheck/recipe.json"
_HOW = "tunecheck recipe render, or ansible-playbook site.yml -i inventory/NAME"
_AGAIN = f"write it again: {_HOW}"


def digest_of(recipe: Recipe) -> str:
    """Return ``sha256:<hex>`` over what differs from the neutral defaults, so that a new field changes no recipe."""
    plain = codec.encode(Recipe, recipe)
    return "sha256:" + hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def to_json(recipe: Recipe) -> str:
    """Return the frozen recipe as the text of its document: sorted, so that equal recipes are equal files."""
    return typed_text(SCHEMA, Recipe, recipe, digest=digest_of(recipe))


def load_recipe(path: str) -> tuple[Recipe, str]:
    """Return the recipe in this file and its digest. UsageError where the file is none, or was altered by hand."""
    recipe, document = read_typed(path, SCHEMA, Recipe, _AGAIN, first=f"write it: {_HOW}")
    digest = digest_of(recipe)
    if document.get("digest") != digest:
        raise UsageError(f"{path}: was altered: it states digest {document.get('digest')}, its content has {digest}; "
                         f"{_AGAIN}", Flaw.ALTERED)
    return recipe, digest
