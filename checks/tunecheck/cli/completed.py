"""What the shell completes beside verbs and options: check ids, and hosts of the inventory."""

from __future__ import annotations

from typing import Any

__all__ = ["checks", "hosts"]


def checks(_context: Any, _parameter: Any, typed: str) -> list[str]:
    """Return the ids of checks that begin with ``typed``."""
    from ..rules.index import CHECKS

    return [check.id for check in CHECKS if check.id.startswith(typed)]


def hosts(context: Any, _parameter: Any, typed: str) -> list[str]:
    """Return the hosts of the inventory that was typed, else of ./inventory, that begin with ``typed``. Empty where
    Ansible cannot read it, or is not here."""
    from ..errors import TunecheckError
    from ..spec.inventory import hosts_of

    try:
        return [name for name in hosts_of(context.params.get("inventory") or "inventory") if name.startswith(typed)]
    except (TunecheckError, ModuleNotFoundError):       # a box has no reader of YAML
        return []
