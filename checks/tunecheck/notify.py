"""The line `Status:` of `systemctl status`, for what runs before and after the main process of a unit."""

from __future__ import annotations

import os
import socket

__all__ = ["tell"]

_LONGEST = 400


def tell(text: str) -> None:
    """Send it, if a unit with NotifyAccess=all runs us (sd_notify(3)); it stays until the unit is started again."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    line = " ".join(text.split())[:_LONGEST]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
            door.sendto(f"STATUS={line}".encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
    except OSError:
        return      # the journal has the line too
