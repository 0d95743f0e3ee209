"""Which of our systemd units start at boot, from the links that `systemctl enable` leaves."""

from __future__ import annotations

from ..host import Host, Unreadable
from ..model.fact import Absence, Fact, absent, known

__all__ = ["ACS_UNIT", "enabled"]

ACS_UNIT = "tunecheck-acs.service"
_FOLDER = "/etc/systemd/system"


def enabled(host: Host, unit: str) -> Fact[bool]:
    """Whether some target or unit wants or requires ``unit``."""
    try:
        folders = [name for name in host.list(_FOLDER) if name.endswith((".wants", ".requires"))]
        return known(any(unit in host.list(f"{_FOLDER}/{name}") for name in folders), _FOLDER)
    except Unreadable as error:
        return known(False, _FOLDER) if error.absence is Absence.NOT_PRESENT else absent(_FOLDER, error.reason)
