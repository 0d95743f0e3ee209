"""Messages to systemd from what a unit runs (sd_notify(3)): the line `Status:` of `systemctl status`, that it is ready,
and that it is alive."""

from __future__ import annotations

import errno
import os
import socket

__all__ = ["alive", "ready", "refused", "tell"]

_LONGEST = 400


def tell(text: str) -> None:
    """Set the line `Status:`, if a unit with NotifyAccess=all runs us. It stays until the unit is started again."""
    _send(_status(text))


def refused(text: str) -> None:
    """Set the line `Status:` to why the unit must not serve. The number beside it (StatusErrno) tells programs, as the
    role `inference`, that this text is the reason and not what was done last. Both go at the next start."""
    _send(f"{_status(text)}\nERRNO={errno.ECANCELED}")


def ready() -> None:
    """Tell systemd that a unit of Type=notify has started."""
    _send("READY=1")


def alive() -> None:
    """Tell systemd that the unit is alive. It ends a unit with WatchdogSec= that does not say so for so long, and
    starts it again."""
    _send("WATCHDOG=1")


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())[:_LONGEST]}"


def _send(message: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
            door.sendto(message.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
    except OSError:
        return      # the journal has the line too
