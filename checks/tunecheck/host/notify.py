"""Messages to systemd from what a unit runs (sd_notify(3)): the line `Status:` of `systemctl status`, that it is ready,
and that it is alive."""

from __future__ import annotations

import os
import socket

__all__ = ["alive", "ready", "tell"]

_LONGEST = 400


def tell(text: str) -> None:
    """Set the line, if a unit with NotifyAccess=all runs us; it stays until the unit is started again."""
    _send(f"STATUS={' '.join(text.split())[:_LONGEST]}")


def ready() -> None:
    """A unit of Type=notify has started."""
    _send("READY=1")


def alive() -> None:
    """For WatchdogSec=: without this for so long, systemd ends the process and starts it again."""
    _send("WATCHDOG=1")


def _send(message: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
            door.sendto(message.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
    except OSError:
        return      # the journal has the line too
