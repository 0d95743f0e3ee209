"""The frozen recipe as a file: its text, its digest, and reading it again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..facts import codec
from .frozen import SCHEMA, Recipe

__all__ = ["PATH", "digest_of", "load_recipe", "to_json"]

#: Where the role puts it.
PATH = "/etc/tunecheck/recipe.json"
_AGAIN = "write it again: tunecheck recipe render, or ansible-playbook site.yml"


def digest_of(recipe: Recipe) -> str:
    """``sha256:<hex>`` over what differs from the neutral defaults, so that a new field changes no recipe."""
    plain = codec.encode(Recipe, recipe)
    return "sha256:" + hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def to_json(recipe: Recipe) -> str:
    """The document's text: sorted, so that equal recipes are equal files."""
    document = {"schema": SCHEMA, "digest": digest_of(recipe), "recipe": codec.encode(Recipe, recipe)}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def load_recipe(path: str) -> tuple[Recipe, str]:
    """The recipe and its digest. UsageError where the file is none, or was altered by hand."""
    try:
        document: Any = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {_AGAIN}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; {_AGAIN}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path}: is not a {SCHEMA}; {_AGAIN}")
    try:
        recipe: Recipe = codec.decode(Recipe, document.get("recipe"))
    except ValueError as error:
        raise UsageError(f"{path}: is not a usable recipe ({error}); {_AGAIN}") from None
    digest = digest_of(recipe)
    if document.get("digest") != digest:
        raise UsageError(f"{path}: was altered: it states digest {document.get('digest')}, its content has {digest}; "
                         f"{_AGAIN}")
    return recipe, digest
