"""What apt and dnf list: available versions, holds. Pure: texts in, values out, for any text."""

from __future__ import annotations

from typing import Dict, Tuple

__all__ = ["dnf_listing", "madison", "repoquery", "showhold"]


def madison(text: str) -> Dict[str, Tuple[str, ...]]:
    """``apt-cache madison NAME...``: {name: versions}, in apt's order, each once; sources are left out."""
    raise NotImplementedError


def dnf_listing(text: str) -> Dict[str, Tuple[str, ...]]:
    """``dnf list --showduplicates NAME...`` (dnf 4 and 5): {name: [epoch:]version-release}."""
    raise NotImplementedError


def repoquery(text: str) -> Dict[str, Tuple[str, ...]]:
    r"""``dnf repoquery --qf '%{name}\t%{evr}\n' NAME...``: {name: versions}."""
    raise NotImplementedError


def showhold(text: str) -> Tuple[str, ...]:
    """``apt-mark showhold``: names without ``:arch``."""
    raise NotImplementedError
