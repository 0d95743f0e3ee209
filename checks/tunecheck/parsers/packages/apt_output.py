"""The output of apt-get and dpkg: a simulated transaction, and packages that a transaction left half done. Pure.

Shapes read in apt 3.0.3 and dpkg 1.22.22 (Debian 13)."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from .packages import Package

__all__ = ["KERNEL", "Simulation", "half_done", "listed", "objections", "simulation"]

#: A kernel that can boot, or its own modules; not NVIDIA's modules for it, which Ubuntu names linux-modules-nvidia-*.
KERNEL = regex(r"^(?:linux-(?:image|modules)-(?!nvidia)|linux-(?:generic|virtual|aws|azure|gcp|oracle|oem)"
               r"|kernel(?:-core|-modules(?:-core|-extra)?)?$)")
_INST = regex(r"^Inst (\S+?)(?::(?:all|any|native))? (?:\[([^\]]*)\] )?\((\S+) ", re.MULTILINE)
_REMV = regex(r"^(?:Remv|Purg) (\S+?)(?::(?:all|any|native))? ", re.MULTILINE)
_WHOLE = ("installed", "config-files", "not-installed")


@dataclass(frozen=True)
class Simulation:
    """What a transaction would do. ``installs``: {name: (version before or empty, version after)}; ``removes``:
    names."""

    installs: Dict[str, Tuple[str, str]]
    removes: Tuple[str, ...]


def simulation(text: str) -> Simulation:
    """Parse the output of ``apt-get -s install ...``."""
    return Simulation({name: (old, new) for name, old, new in _INST.findall(text)}, tuple(_REMV.findall(text)))


def listed(text: str) -> List[Tuple[str, str, str, str]]:
    """Parse lines of name, version, wanted state, state, between tabs, into tuples (name, version, wanted, state)."""
    rows = (line.split("\t") for line in text.splitlines())
    return [(row[0], row[1], row[2], row[3]) for row in rows if len(row) == 4]


def half_done(text: str) -> List[str]:
    """Return the packages in such lines that are neither whole nor gone, as ``name (half-configured)``."""
    return ["%s (%s)" % (name, state) for name, _version, _wanted, state in listed(text) if state not in _WHOLE]


def objections(found: Simulation, explicit: Dict[str, str], removes: Tuple[str, ...],
               driver: Optional[str]) -> List[str]:
    """Return sentences on why a transaction must not run. ``explicit`` is what it is for: {name: version, empty for
    any}; ``removes`` is what it may take away; ``driver`` is the release that every part of the driver must have, None
    for any."""
    said = []
    for name, (before, after) in sorted(found.installs.items()):
        if KERNEL.match(name) and name not in explicit:
            said.append("it would install the kernel package %s %s%s" % (
                name, after, " in place of " + before if before else ""))
        if explicit.get(name) and explicit[name] != after:
            said.append("it would install %s %s; expected %s" % (name, after, explicit[name]))
        release = Package(name, after, False).driver
        if name not in explicit and driver and release not in (None, driver):
            said.append("it would install %s %s, of another driver release" % (name, after))
    for name in sorted(found.removes):
        if name not in removes:
            said.append("it would remove %s" % name)
    return said
