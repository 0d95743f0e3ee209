"""Reads a file of the host as a fact, and whether systemd starts a unit at boot."""

from __future__ import annotations

from ..host import Host, Unreadable
from ..model.fact import Absence, Fact, absent, known

__all__ = ["ACS_UNIT", "enabled", "text"]

ACS_UNIT = "tunecheck-acs.service"
_UNITS = "/etc/systemd/system"


def text(host: Host, path: str) -> Fact[str]:
    """Return the content of a file as text without surrounding white space. Undecodable bytes are replaced."""
    try:
        return Fact(host.read_bytes(path).decode("utf-8", "replace").strip(), path)
    except Unreadable as error:
        return Fact(None, path, error.reason)


def enabled(host: Host, unit: str) -> Fact[bool]:
    """Return whether some target or unit wants or requires ``unit``, by the links that `systemctl enable` leaves."""
    try:
        folders = [name for name in host.list(_UNITS) if name.endswith((".wants", ".requires"))]
        return known(any(unit in host.list(f"{_UNITS}/{name}") for name in folders), _UNITS)
    except Unreadable as error:
        return known(False, _UNITS) if error.absence is Absence.NOT_PRESENT else absent(_UNITS, error.reason)
