"""Which hosts an audit asked, in words (run.Source.scope), and the inventory in them."""

from __future__ import annotations

__all__ = ["FILES", "LIMIT", "inventory_of"]

#: Between the parts of a scope.
LIMIT, FILES = "limit ", "files of "


def inventory_of(scope: str) -> str:
    """The path of the inventory that was given; "" where none was: a list of hosts, carried files, or what was
    pushed."""
    path = scope.partition(f", {LIMIT}")[0].partition(f", {FILES}")[0]
    return path if path.startswith("/") else ""
