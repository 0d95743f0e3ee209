"""Finds the lines of an inventory that `tunecheck init`, or the inventory that was copied, left to a person.

It imports nothing of this package: the callback plugin loads it by its path."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SUFFIXES", "entries", "lines_of", "places_of", "sentence", "unfinished"]

#: As tunecheck init and inventory/box1 write it behind a value that is a guess.
_MARK = "# CHANGE:"
SUFFIXES = ("", ".yml", ".yaml", ".json")


def unfinished(inventory: str) -> list[str]:
    """Return the places of these lines, "hosts.yml:12". The list is empty where there are none, and where ``inventory``
    is no file and no directory."""
    root, places = places_of(inventory)
    return [f"{file.relative_to(root)}:{number}" for place in places
            for file in (sorted(place.rglob("*")) if place.is_dir() else [place])
            for number, line in enumerate(lines_of(file), 1) if _MARK in line]


def sentence(count: int, named: str) -> str:
    """Return what is to be done about so many of these lines; ``named``: the places of the first ones."""
    lines = f"{count} lines are" if count > 1 else "1 line is"
    return f"{lines} still marked CHANGE ({named}); complete each one, then take its mark away"


def places_of(inventory: str) -> tuple[Path, list[Path]]:
    """Return the inventory's directory, and the files and directories that Ansible reads of it."""
    root = Path(inventory)
    if "," in inventory or not root.exists():
        return root, []
    root = root if root.is_dir() else root.parent
    files = [Path(inventory)] if Path(inventory).is_file() else [each for each in root.iterdir() if each.is_file()]
    return root, [*sorted(files), *entries(root / "group_vars"), *entries(root / "host_vars")]


def entries(folder: Path) -> list[Path]:
    """Return what Ansible reads of group_vars or host_vars."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_"))
                      and not path.name.endswith("~") and (path.is_dir() or path.suffix in SUFFIXES))
    except OSError:
        return []


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file; none where it cannot be read as text."""
    try:
        return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    except (OSError, UnicodeDecodeError):
        return []
