"""The lists that apt and dnf print: available versions, holds. Pure: texts in, values out, for any text."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Tuple

from ...util.at_first_use import regex

__all__ = ["dnf_listing", "madison", "repoquery", "showhold"]

_MOST = 20000
_LISTED = regex(r"^([A-Za-z0-9][A-Za-z0-9.+_-]*)\.(x86_64|aarch64|noarch|i686)\s+(\S+)\s+(\S+)\s*$")


def madison(text: str) -> Dict[str, Tuple[str, ...]]:
    """Parse the output of ``apt-cache madison NAME...`` into {name: versions}, in apt's order, each once. Lines of
    sources are left out."""
    rows = []
    for line in text.splitlines()[:_MOST]:
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 3 and not cells[2].endswith(" Sources"):
            rows.append((cells[0], cells[1]))
    return _by_name(rows)


def dnf_listing(text: str) -> Dict[str, Tuple[str, ...]]:
    """Parse the output of ``dnf list --showduplicates NAME...`` (dnf 4 and 5) into {name: [epoch:]version-release},
    each once. dnf wraps rows that do not fit a terminal; without one it does not."""
    rows = []
    for line in text.splitlines()[:_MOST]:
        found = _LISTED.match(line)
        if found:
            rows.append((found.group(1), found.group(3)))
    return _by_name(rows)


def repoquery(text: str) -> Dict[str, Tuple[str, ...]]:
    r"""Parse the output of ``dnf repoquery --qf '%{name}\t%{evr}\n' NAME...`` into {name: versions}, each once. dnf 4
    prints the epoch 0, which is taken away."""
    rows = []
    for line in text.splitlines()[:_MOST]:
        name, mark, version = line.strip().partition("\t")
        if mark and version:
            rows.append((name, re.sub(r"^0:", "", version)))
    return _by_name(rows)


def showhold(text: str) -> Tuple[str, ...]:
    """Return the names that ``apt-mark showhold`` prints, without ``:arch``, each once."""
    names = [line.strip().partition(":")[0] for line in text.splitlines()[:_MOST]]
    return tuple(dict.fromkeys(name for name in names if name))


def _by_name(rows: Iterable[Tuple[str, str]]) -> Dict[str, Tuple[str, ...]]:
    found: Dict[str, List[str]] = {}
    for name, version in rows:
        versions = found.setdefault(name[:200], [])
        if version[:200] not in versions:
            versions.append(version[:200])
    return {name: tuple(versions) for name, versions in found.items()}
