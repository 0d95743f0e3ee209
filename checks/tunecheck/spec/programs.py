"""Finds Ansible's programs on the control node: those of this Python's environment before any others."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tunecheck.errors import CONTROL_NODE, Misuse, UsageError

__all__ = ["beside"]


def beside(program: str) -> str:
    """Return the program's path. UsageError where it is not installed."""
    here = Path(sys.executable).with_name(program)
    command = str(here) if here.exists() else shutil.which(program)
    if command is None:
        raise UsageError(f"{program} is not installed here; {CONTROL_NODE}", Misuse.NOT_HERE)
    return command
