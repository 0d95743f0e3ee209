"""The folders below one that was given: they are not read, and whoever gave it wants to know which one to give."""

from __future__ import annotations

import os
import shlex
from itertools import islice

from ...util.text import some

__all__ = ["below"]

#: So many are named.
_NAMED = 4
#: So many entries of a folder are looked at: this is about a few texts, and no search of a disk.
_LOOKED_AT = 500


def below(path: str) -> str:
    """Return the part of a sentence about a folder in which nothing is of use: that folders below it are not read,
    which these are, and how one is given. "" where ``path`` is no folder, or has none below it."""
    names = sorted(name for name, is_folder in _entries(path) if is_folder)
    if not names:
        return ""
    given = next((name for name in names if any(not is_folder for _, is_folder in _entries(f"{path}/{name}"))),
                 names[0])
    one = shlex.quote(f"{path.rstrip('/')}/{given}")
    return (f"folders below it are not read ({some(names, _NAMED)}): give the one with the texts of one box, for "
            f"example: tunecheck preflight --from {one}")


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Return names, each with whether it is a folder; without what a shell hides, links and special files."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _LOOKED_AT)
                    if not entry.name.startswith(".") and entry.name.isprintable()
                    and (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False))]
    except OSError:
        return []
