"""Whether there is a process of this number: also where /proc of this user does not show it (hidepid of proc(5))."""

from __future__ import annotations

import os

__all__ = ["exists"]


def exists(pid: int) -> bool:
    """Ask the kernel for the right to send a signal; none is sent."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
