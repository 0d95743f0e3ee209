"""Are the model's files on this box, whole, of the pinned revision? SHA-256 of each, remembered while the file does not
change.

A file whose size, time, inode and device are as they were when its sum was right is not read again: 70 GB take minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..recipes.frozen import Model
from ..util import safe_files
from ..util.whole_file import write_file

__all__ = ["Problem", "Wrong", "folder_of", "problems"]

_MEMORY = "/var/lib/tunecheck/models.json"
_SCHEMA = "tunecheck/models/1"
_CHUNK = 8 << 20


class Wrong(StrEnum):
    """What is wrong with a file of a model."""

    OUTSIDE = "outside"
    #: Somebody still writes it.
    MOVING = "moving"
    UNREAD = "unread"
    OTHER_SUM = "other-sum"


@dataclass(frozen=True)
class Problem:
    """One file that is not what the recipe pins."""

    file: str
    code: Wrong
    text: str


def folder_of(models: str, model: Model) -> Path:
    """Return the folder of a model's revision: ``<models>/<owner>--<name>/<revision>``. Revisions lie side by side; an
    upgrade never overwrites a served one."""
    return Path(models) / model.id.replace("/", "--") / (model.revision or "none")


def problems(models: str, model: Model, memory: str = _MEMORY) -> list[Problem]:
    """Return every file that is missing or has another sum; empty when the model is what was pinned. A file whose sum
    is remembered is not read again."""
    folder = folder_of(models, model)
    known = _remembered(memory)
    seen: dict[str, list[Any]] = {}
    found = list(_judged(folder, model.files, known, seen))
    if any(known.get(key) != value for key, value in seen.items()):
        _remember(memory, known | seen)
    return found


def _judged(folder: Path, files: Mapping[str, str], known: Mapping[str, Any], seen: dict[str, list[Any]]
            ) -> Iterator[Problem]:
    for name, wanted in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            yield Problem(name, Wrong.OUTSIDE, "lies outside the model's folder; copy the file itself, not a link")
            continue
        try:
            mark = _mark(path, wanted)
            if known.get(str(path)) == mark:
                continue
            actual = _sum(path)
            if _mark(path, wanted) != mark:
                yield Problem(name, Wrong.MOVING, "changed while it was read; wait for the copy to end")
                continue
        except OSError as error:
            yield Problem(name, Wrong.UNREAD, f"cannot be read in {folder} ({error.strerror}); copy the model of this "
                          "revision there")
            continue
        if actual == wanted:
            seen[str(path)] = mark
        else:
            yield Problem(name, Wrong.OTHER_SUM, f"is not the pinned file: {actual[:19]}... instead of "
                          f"{wanted[:19]}..., {path.stat().st_size} bytes; copy it again")


def _mark(path: Path, wanted: str) -> list[Any]:
    about = path.stat()
    return [wanted, about.st_size, about.st_mtime_ns, about.st_ino, about.st_dev]


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
        # A model is larger than what else the page cache is good for before the engine reads it itself.
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_NOREUSE)
    return "sha256:" + digest.hexdigest()


def _remembered(memory: str) -> dict[str, Any]:
    try:
        document = json.loads(safe_files.read(memory, follow=False, ours=True))
    except (OSError, ValueError):
        return {}
    files = document.get("files") if isinstance(document, dict) and document.get("schema") == _SCHEMA else None
    return files if isinstance(files, dict) else {}


def _remember(memory: str, files: Mapping[str, Any]) -> None:
    there = {path: mark for path, mark in files.items() if Path(path).exists()}
    try:
        write_file(memory, (json.dumps({"schema": _SCHEMA, "files": there}, indent=1) + "\n").encode(), 0o644)
    except UsageError:
        return      # then they are read again next time
