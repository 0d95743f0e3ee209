"""Keys of the specification that have no effect beside another key's value, for whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["idle"]

#: Key -> (the key that decides, its value beside which this one has no effect).
_BESIDE: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("driver.hold", "driver.modules", "driver.drain"), ("driver.source", "leave")),
    **dict.fromkeys(("acs.mechanism", "acs.scope", "acs.at_boot_unit"), ("acs.peer_redirect", "leave")),
}


def idle(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of a specification (path -> value) that have no effect, and beside what: "driver.hold" ->
    "driver.source = leave"."""
    return {path: f"{decides} = {value}" for path, (decides, value) in _BESIDE.items()
            if path in values and values[decides] == value}
