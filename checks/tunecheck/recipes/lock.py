"""A recipe's lock: which image and which model revision its names meant when it was pinned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..facts import codec

__all__ = ["SCHEMA", "Lock", "LockedImage", "LockedModel", "lock_beside", "lock_text", "read_lock"]

SCHEMA = "tunecheck/lock/1"
_MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class LockedImage:
    """``asked`` is what was resolved; ``digest`` of the platform's manifest, ``image_id`` of its configuration."""

    asked: str
    digest: str
    image_id: str


@dataclass(frozen=True)
class LockedModel:
    """``asked`` is what was resolved: "owner/name@main", or a folder. ``files``: path to "sha256:<64 hex>"."""

    id: str
    asked: str
    revision: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lock:
    """``created``: UTC, for people."""

    recipe: str
    created: str
    image: LockedImage
    model: LockedModel
    drafter: LockedModel | None = None


def lock_beside(recipe: Path) -> Path:
    """``qwen.yml`` -> ``qwen.lock.json`` in the same folder."""
    return recipe.with_name(f"{recipe.stem}.lock.json")


def lock_text(lock: Lock) -> str:
    """The document's text, sorted."""
    return json.dumps({"schema": SCHEMA, "lock": codec.encode(Lock, lock)}, indent=2, sort_keys=True) + "\n"


def read_lock(path: Path) -> Lock:
    """UsageError says why it is none."""
    again = "write it again: tunecheck recipe pin"
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path}: larger than {_MAX_BYTES >> 20} MiB; no lock is")
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {again}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; {again}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path}: is not a {SCHEMA}; {again}")
    try:
        found: Lock = codec.decode(Lock, document.get("lock"))
    except ValueError as error:
        raise UsageError(f"{path}: is not a usable lock ({error}); {again}") from None
    return found
