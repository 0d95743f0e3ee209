"""Texts that keep a set of packages at its version: apt preferences, unattended-upgrades, deb822, dnf."""

from __future__ import annotations

from typing import Dict, Iterable

from .driver_types import Pin, Repository

__all__ = ["deb822", "preferences", "unattended", "versionlock", "yum_repo"]

_OURS = "# Written by tunecheck; a later run writes it anew.\n"


def preferences(pins: Iterable[Pin]) -> str:
    """Return the text of a file of apt_preferences(5), or "" for no pins. The first stanza that fits a version counts,
    so their order does too."""
    stanzas = ["Package: %s\nPin: version %s\nPin-Priority: %d\n" % (" ".join(pin.packages), pin.version, pin.priority)
               for pin in pins if pin.packages]
    return _OURS + "\n" + "\n".join(stanzas) if stanzas else ""


def unattended(patterns: Iterable[str]) -> str:
    """Return the text of a file of apt.conf(5) that adds to Unattended-Upgrade::Package-Blacklist, which other files
    may have filled; "" for no patterns. The patterns are regular expressions that fit from the beginning of a name."""
    lines = ['    "%s";\n' % pattern.replace('"', "") for pattern in patterns]
    return "%sUnattended-Upgrade::Package-Blacklist {\n%s};\n" % (_OURS.replace("#", "//"), "".join(lines)) \
        if lines else ""


def deb822(repository: Repository, keyring: str) -> Dict[str, str]:
    """Return the fields of a deb822 source (sources.list(5)). ``keyring`` is the path of Signed-By. A flat repository
    has no Components."""
    fields = {"Types": "deb", "URIs": repository.url, "Suites": " ".join(repository.suites),
              "Components": " ".join(repository.components), "Architectures": repository.arch, "Signed-By": keyring}
    return {name: value for name, value in fields.items() if value}


def yum_repo(repository: Repository, keyring: str, name: str = "tunecheck-nvidia") -> str:
    """Return the text of a .repo file. ``keyring`` is the path of the key. Packages must be signed by it
    (``gpgcheck``); metadata is not asked to be, NVIDIA's own .repo files do not ask either."""
    return "%s[%s]\nname=%s\nbaseurl=%s\nenabled=1\ngpgcheck=1\ngpgkey=file://%s\n" % (
        _OURS, name, name, repository.url, keyring)


def versionlock(lines: Iterable[str]) -> str:
    """Return the text of dnf 4's versionlock.list (EL 9 and 10), or "" for no lines."""
    rows = "".join("%s\n" % line for line in lines)
    return _OURS + rows if rows else ""
