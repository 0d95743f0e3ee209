"""A recipe's lock: which image and which model revision its names meant when it was pinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..facts.typed_file import read_typed, typed_text
from ..util.typed_path import typed_path

__all__ = ["SCHEMA", "Lock", "LockedImage", "LockedModel", "lock_beside", "lock_text", "pin_again", "read_lock"]

SCHEMA = "tunecheck/lock/1"


@dataclass(frozen=True)
class LockedImage:
    """The image that a lock pins. ``asked`` is what was resolved; ``digest`` of the platform's manifest, ``image_id``
    of its configuration."""

    asked: str
    digest: str
    image_id: str


@dataclass(frozen=True)
class LockedModel:
    """A model that a lock pins. ``asked`` is what was resolved: "owner/name@main", or a folder. ``files``: path to
    "sha256:<64 hex>"."""

    id: str
    asked: str
    revision: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lock:
    """The lock of a recipe. ``created``: when, in UTC, for people."""

    recipe: str
    created: str
    image: LockedImage
    model: LockedModel
    drafter: LockedModel | None = None


def lock_beside(recipe: Path) -> Path:
    """Return the path of a recipe's lock: for ``qwen.yml`` it is ``qwen.lock.json`` in the same folder."""
    return recipe.with_name(f"{recipe.stem}.lock.json")


def lock_text(lock: Lock) -> str:
    """Return the lock as the text of its document, sorted."""
    return typed_text(SCHEMA, Lock, lock)


def pin_again(which: str) -> str:
    """Return the command that writes the lock of a recipe, which is named by its id or its file."""
    return f"tunecheck recipe pin {typed_path(which)}"


def read_lock(path: Path, which: str | None = None) -> Lock:
    """Read the lock of the recipe ``which``, an id or a file; default: the file that the lock is beside. UsageError
    says why the file is none."""
    pin = pin_again(which or str(path.with_name(f"{path.stem.removesuffix('.lock')}.yml")))
    found: Lock = read_typed(path, SCHEMA, Lock, f"write it again: {pin}", first=f"write it: {pin}")[0]
    return found
