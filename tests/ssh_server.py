"""OpenSSH's server, of which tests start some of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["SSHD", "make_room"]

#: Its path, None where it is not installed.
SSHD = shutil.which("sshd", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")))


def make_room() -> None:
    """Make the folder in which a root's sshd locks its children. The system's own unit makes it; where that never ran,
    as in a container, the server refuses to start."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
