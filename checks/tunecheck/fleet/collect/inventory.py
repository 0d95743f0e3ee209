"""Which hosts an audit asks, each with its group, as Ansible reads the inventory and the limit."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tunecheck.errors import UsageError

from .programs import beside

__all__ = ["absolute", "asked_hosts", "limit_of"]

# A dynamic inventory may ask a slow API; a hung one must not hang the operator.
_DEADLINE = 300


def asked_hosts(inventory: str, limit: str | None = None) -> tuple[tuple[str, str], ...]:
    """(host, its most specific group), by name. UsageError where there is none, or Ansible cannot read it."""
    listing = _listing(absolute(inventory), limit_of(limit))
    groups: dict[str, Any] = {name: group for name, group in listing.items() if name != "_meta"}
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
        raise UsageError(f"inventory {inventory} has no hosts{under}; see: ansible-inventory -i {inventory} --graph")
    return tuple(sorted((host, rank[2]) for host, rank in found.items()))


def absolute(inventory: str) -> str:
    """The inventory as any working directory finds it. "a,b," is a list of hosts."""
    if "," in inventory:
        return inventory
    try:
        there = Path(inventory).exists()
    except OSError as error:
        raise UsageError(f"inventory {inventory!r} cannot be read ({error.strerror}); expected a folder or file that "
                         "the user who runs this may read") from None
    if not there:
        raise UsageError(f"inventory {inventory!r} does not exist; expected a folder or file, for example "
                         "inventory/box1")
    return str(Path(inventory).absolute())


def limit_of(limit: str | None) -> str | None:
    """The limit as any working directory understands it: "@hosts.txt" names a file."""
    if not limit or not limit.strip():
        return None
    return f"@{Path(limit[1:]).absolute()}" if limit.startswith("@") else limit


def _listing(inventory: str, limit: str | None) -> dict[str, Any]:
    command = [beside("ansible-inventory"), "-i", inventory, "--list", *(["--limit", limit] if limit else [])]
    # Ansible would only warn about a file that it cannot parse, and go on without its hosts.
    strict = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_NOCOLOR": "true"}
    try:
        done = subprocess.run(command, env=os.environ | strict, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=_DEADLINE, check=False)
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"ansible-inventory gave no answer on {inventory} in {_DEADLINE} s") from error
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run ({error.strerror}); install tunecheck[control] for this user"
                         ) from None
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip()
        if limit and "do not match any hosts" in told:
            return {}
        raise UsageError(f"Ansible cannot read inventory {inventory}; it says:\n{told}")
    listing: dict[str, Any] = json.loads(done.stdout)
    return listing


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
