"""The folders below one that was given: they are not read, and whoever gave it wants to know which one to give. Of an
inventory it is the verb that reads it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from ...util.text import some
from ...util.typed_path import typed_path

__all__ = ["below"]

#: What an Ansible inventory consists of: folders of variables, and a list of its hosts.
_VARIABLES = ("group_vars", "host_vars")
_HOSTS = ("hosts.yml", "hosts.yaml", "hosts.ini")
#: So many are named.
_NAMED = 4
#: So many entries of a folder are looked at: this is about a few texts, and no search of a disk.
_LOOKED_AT = 500


def below(path: str) -> str:
    """Return the part of a sentence about a folder in which nothing is of use: that folders below it are not read,
    which these are, and how one is given; of an Ansible inventory, or a part of one, what reads it. "" where ``path``
    is neither, and no folder that has others below it."""
    if inventory := _inventory(path):
        it = "it is" if inventory == os.path.normpath(path) else "it is a part of"
        return _of_inventory(f"{it} an Ansible inventory", inventory)
    names = sorted(name for name, is_folder in _entries(path) if is_folder)
    if not names:
        return ""
    folders = [f"{path.rstrip('/')}/{name}" for name in names]
    texts = [folder for folder in folders if not _inventory(folder)]
    if not texts:
        return _of_inventory("below it is an Ansible inventory", folders[0])
    given = next((each for each in texts if any(not is_folder for _, is_folder in _entries(each))), texts[0])
    return (f"folders below it are not read ({some(names, _NAMED)}): give the one with the texts of one box, for "
            f"example: tunecheck preflight --from {typed_path(given)}")


def _inventory(path: str) -> str:
    """Return the folder of the Ansible inventory that ``path`` is, or of which it is a file or a folder of variables;
    "" where it is none."""
    folder = Path(path)
    folder = folder.parent if folder.is_file() else folder
    if folder.resolve().name in _VARIABLES:
        folder = Path(os.path.normpath(folder / ".."))
    found = any(name in (_VARIABLES if is_folder else _HOSTS) for name, is_folder in _entries(str(folder)))
    return str(folder) if found else ""


def _of_inventory(what: str, inventory: str) -> str:
    folder = typed_path(inventory)
    return (f"{what}, which says what boxes shall be, and not what they are: to ask its boxes run: tunecheck audit -i "
            f"{folder}; to see what is asked of each: tunecheck spec show -i {folder}")


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Return names, each with whether it is a folder; without what a shell hides, links and special files."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _LOOKED_AT)
                    if not entry.name.startswith(".") and entry.name.isprintable()
                    and (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False))]
    except OSError:
        return []
