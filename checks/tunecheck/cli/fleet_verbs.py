"""The verbs of the control node. They are a package of their own, tunecheck_fleet, which no GPU host needs: this is
the only place that loads it, and only by name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import CONTROL_NODE, Misuse, UsageError

if TYPE_CHECKING:
    import click

__all__ = ["FLEET_VERBS", "fleet_installed", "fleet_part", "fleet_verb"]

FLEET_VERBS = ("acknowledge", "approve", "audit", "blame", "drift", "export", "fleet", "history", "ingest", "waive")
_PACKAGE = "tunecheck_fleet"


def fleet_installed() -> bool:
    """Return whether this is a control node: whether the fleet's package is installed."""
    return find_spec(_PACKAGE) is not None


def fleet_part(module: str, wanted_by: str) -> Any:
    """Return a module of the fleet's package. UsageError where it is not installed."""
    if not fleet_installed():
        raise UsageError(f"tunecheck {wanted_by} runs on the control node, and its package {_PACKAGE} is not installed "
                         f"here; {CONTROL_NODE}", Misuse.NOT_HERE)
    return import_module(f"{_PACKAGE}.{module}")


def fleet_verb(name: str) -> click.Command:
    """Return the command of the verb ``name``. UsageError where the package is not installed."""
    found: click.Command = getattr(fleet_part(f"cli.{name}", name), name)
    return found
