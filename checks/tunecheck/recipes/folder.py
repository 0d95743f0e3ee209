"""A model that no hub has: its files in a folder, and a revision made of their content."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from .lock import LockedModel
from .unpinned import Unpinned

__all__ = ["resolve"]

_CHUNK = 8 << 20


def resolve(model: str, folder: str, include: Sequence[str] | None = None) -> LockedModel:
    """Return the pinned model of a folder. The revision is the first 40 hex digits of a SHA-256 over the sorted lines
    "<sum>  <path>": the same files have the same revision everywhere. UsageError where there is nothing to pin."""
    base = Path(folder)
    try:
        found = sorted(path for path in base.rglob("*") if path.is_file())
        names = [path.relative_to(base).as_posix() for path in found]
        files = {name: _sum(base / name) for name in names
                 if include is None or any(fnmatch.fnmatchcase(name, glob) for glob in include)}
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read ({error.strerror})", Unpinned.UNREAD) from None
    if not files:
        raise UsageError(f"{folder}: holds no {' or '.join(include or ['file'])}; expected the model's files",
                         Unpinned.NO_FILES)
    lines = "".join(f"{value.removeprefix('sha256:')}  {name}\n" for name, value in files.items())
    return LockedModel(model, "a folder", hashlib.sha256(lines.encode()).hexdigest()[:40], files)


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"
