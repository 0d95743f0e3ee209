"""The name of what an audit asked: an inventory, a limit, a folder of carried files. Audits with one name are compared,
and the name stands in reports and in the store; it is made and taken apart here alone."""

from __future__ import annotations

__all__ = ["UNGROUPED", "files_of", "fleet_of", "inventory_of", "named", "of_carried", "without_limit"]

#: The group of a host that is in none, as Ansible calls it.
UNGROUPED = "ungrouped"
_BETWEEN, _LIMIT, _FILES = ", ", "limit ", "files of "


def named(place: str, limit: str = "", files: str = "") -> str:
    """Return the name. ``place``: the path of an inventory, or other words for the hosts that were asked. ``files``:
    the folder of carried files."""
    return _BETWEEN.join(part for part in (place, f"{_LIMIT}{limit}" if limit else "",
                                           f"{_FILES}{files}" if files else "") if part)


def without_limit(scope: str) -> str:
    """Return the name that the same audit has without its limit."""
    place, limit, rest = scope.partition(_BETWEEN + _LIMIT)
    _, files, folder = rest.rpartition(_BETWEEN + _FILES)
    return f"{place}{files}{folder}" if limit and files else place


def fleet_of(scope: str) -> str:
    """Return what the audits of one inventory have in common, whatever a limit left out and wherever its files lay; of
    carried files without an inventory, their folder."""
    return inventory_of(scope) or without_limit(scope)


def of_carried(scope: str) -> bool:
    """Return whether only carried files were judged."""
    return scope.startswith(_FILES)


def files_of(scope: str) -> str:
    """Return the folder of carried files; "" where none were judged."""
    return scope.partition(_FILES)[2] if of_carried(scope) else without_limit(scope).partition(_BETWEEN + _FILES)[2]


def inventory_of(scope: str) -> str:
    """Return the path of the inventory that was given; "" where none was: a list of hosts, carried files, or what was
    pushed."""
    path = without_limit(scope).partition(_BETWEEN + _FILES)[0]
    return path if path.startswith("/") else ""
