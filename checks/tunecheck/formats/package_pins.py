"""Texts that keep a set of packages at its version: apt preferences, unattended-upgrades, deb822, dnf."""

from __future__ import annotations

from typing import Dict, Iterable

from .driver_set import Pin, Repository

__all__ = ["deb822", "preferences", "unattended", "versionlock", "yum_repo"]


def preferences(pins: Iterable[Pin]) -> str:
    """apt_preferences(5); empty for no pins."""
    raise NotImplementedError


def unattended(patterns: Iterable[str]) -> str:
    """apt.conf(5) with Unattended-Upgrade::Package-Blacklist; appends to what other files list."""
    raise NotImplementedError


def deb822(repository: Repository, keyring: str) -> Dict[str, str]:
    """Fields of a deb822 source; ``keyring``: path of Signed-By."""
    raise NotImplementedError


def yum_repo(repository: Repository, keyring: str) -> str:
    """Text of a .repo file; ``keyring``: path of the key."""
    raise NotImplementedError


def versionlock(lines: Iterable[str]) -> str:
    """dnf's versionlock.list."""
    raise NotImplementedError
