"""The folder of a run, and what a killed audit left behind: its folder, and an Ansible that nobody listens to."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import suppress
from os import geteuid, getpid
from pathlib import Path

from . import processes

__all__ = ["folder", "sweep"]

_PREFIX = "tunecheck-audit-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-\w+")


def folder() -> str:
    """A new one, of mode 0700, that says whose it is."""
    return tempfile.mkdtemp(prefix=f"{_PREFIX}{getpid()}-")


def sweep() -> None:
    """End and remove this user's runs whose audit is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        name = _NAME.fullmatch(path.name)
        with suppress(OSError):
            about = path.lstat()
            if name and about.st_uid == geteuid() and path.is_dir() and not path.is_symlink() \
                    and not processes.alive(int(name[1])):
                processes.end(str(path))
                shutil.rmtree(path, ignore_errors=True)
