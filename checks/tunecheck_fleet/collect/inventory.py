"""Which hosts an audit asks, each with its group, as Ansible reads the inventory and the limit."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from tunecheck.errors import Misuse, UsageError
from tunecheck.spec.inventory import listing

__all__ = ["absolute", "asked_hosts", "asked_of", "limit_of"]


def asked_hosts(inventory: str, limit: str | None = None) -> tuple[tuple[str, str], ...]:
    """(host, its most specific group), by name. UsageError where there is none, or Ansible cannot read it."""
    return asked_of(listing(absolute(inventory), limit_of(limit)), inventory, limit)


def asked_of(listed: dict[str, Any], inventory: str, limit: str | None) -> tuple[tuple[str, str], ...]:
    """The same of what ``ansible-inventory`` said."""
    groups: dict[str, Any] = {name: group for name, group in listed.items() if name != "_meta"}
    depth = _depths(groups)
    found: dict[str, tuple[int, int, str]] = {}
    for name, group in groups.items():
        hosts = group.get("hosts", [])
        # The deepest group; of two as deep the smaller one; then by name, so that every audit says the same.
        rank = (-depth.get(name, 0), len(hosts), name)
        for host in hosts:
            found[host] = min(found.get(host, rank), rank)
    if not found:
        under = f" under --limit {limit}" if limit else ""
        raise UsageError(f"inventory {inventory} has no hosts{under}; see: ansible-inventory -i "
                         f"{shlex.quote(inventory)} --graph",
                         Misuse.EMPTY)
    return tuple(sorted((host, rank[2]) for host, rank in found.items()))


def absolute(inventory: str) -> str:
    """The inventory as any working directory finds it. "a,b," is a list of hosts."""
    if "," in inventory:
        return inventory
    try:
        there = Path(inventory).exists()
    except OSError as error:
        raise UsageError(f"inventory {inventory!r} cannot be read ({error.strerror}); expected a folder or file that "
                         "the user who runs this may read", Misuse.UNREADABLE) from None
    if not there:
        raise UsageError(f"inventory {inventory!r} does not exist; expected a folder or file, for example "
                         "inventory/box1", Misuse.NOT_THERE)
    return str(Path(inventory).absolute())


def limit_of(limit: str | None) -> str | None:
    """The limit as any working directory understands it: "@hosts.txt" names a file."""
    if not limit or not limit.strip():
        return None
    return f"@{Path(limit[1:]).absolute()}" if limit.startswith("@") else limit


def _depths(groups: dict[str, Any]) -> dict[str, int]:
    """Steps below `all`, the longest way. Ansible refuses loops."""
    depth: dict[str, int] = {}

    def visit(name: str, steps: int) -> None:
        if steps > depth.get(name, -1):
            depth[name] = steps
            for child in groups.get(name, {}).get("children", []):
                visit(child, steps + 1)

    visit("all", 0)
    return {**depth, "ungrouped": 0}
