"""The output of dnf: a transaction it would run, locks, duplicates. Pure, for any text."""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from .apt_output import Simulation
from .packages import locked

__all__ = ["duplicates", "locked_names", "simulation"]

_IN = ("Installing:", "Upgrading:", "Downgrading:", "Reinstalling:", "Installing dependencies:",
       "Installing weak dependencies:")
_OUT = ("Removing:", "Removing dependent packages:", "Removing unused dependencies:")


def simulation(text: str) -> Simulation:
    """Parse the table of ``dnf install --assumeno``: Package, Architecture, Version, Repository, Size. A long name
    stands on a line of its own."""
    installs: Dict[str, Tuple[str, str]] = {}
    removes: List[str] = []
    section = ""
    words: List[str] = []
    for line in text.splitlines():
        if line.strip() in (*_IN, *_OUT):
            section, words = line.strip(), []
        elif not line.startswith(" ") or line.strip().startswith(("replacing ", "Replacing ")):
            if line.startswith("Transaction Summary"):
                break
            words = []
        elif section:
            words += line.split()
            if len(words) >= 4:
                if section in _OUT:
                    removes.append(words[0])
                else:
                    installs[words[0]] = ("", words[2])
                words = []
    return Simulation(installs, tuple(removes))


def locked_names(text: str) -> Tuple[str, ...]:
    """Return the names that versionlock.list (``nvidia-driver-cuda-3:595.71.05-1.el9.*``) or versionlock.toml locks."""
    found = []
    for line in text.splitlines():
        entry = line.split("#")[0].strip()
        name = re.sub(r"-\d+:\d.*$", "", re.sub(r'^name\s*=\s*"(.*)"$', r"\1", entry))
        if entry and not entry.startswith(("!", "[")) and locked(entry, name):
            found.append(name)
    return tuple(dict.fromkeys(found))


def duplicates(text: str) -> List[str]:
    """Return the lines of ``dnf check --duplicates`` that name one: ``X is a duplicate with Y``."""
    return [line.strip() for line in text.splitlines() if " is a duplicate with " in line]
