"""Xids that a text quotes: in a sentence, or said by another program. Whose they are, nobody knows. Pure, never
fails."""

from __future__ import annotations

from dataclasses import field
from itertools import islice
from typing import Dict, Iterable, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["Quotations", "Quoted"]

_QUOTED = regex(r"NVRM: (?:Xid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)\n]{0,40}\): (\d{1,6})"
                r"|GPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?: GPU has fallen off the bus)")
_MOST = 512


@dataclass(frozen=True)
class Quoted:
    """An Xid that no line of the kernel tells. ``code`` is 79 also where only "has fallen off the bus" is quoted."""

    gpu: str
    code: int


@dataclass
class Quotations:
    """Collects what is quoted line by line."""

    _found: Dict[Tuple[str, int], None] = field(default_factory=dict)

    def feed(self, text: str) -> None:
        """Take in a message that is not the driver's."""
        for found in islice(_QUOTED.finditer(text), _MOST):
            if len(self._found) < _MOST:
                self._found.setdefault((address(found[1] or found[3]), int(found[2] or 79)))

    def result(self, told: Iterable[Tuple[str, int]]) -> Tuple[Quoted, ...]:
        """Return those that are not among what the kernel ``told``: GPU and code."""
        known = set(told)
        return tuple(Quoted(*key) for key in self._found if key not in known)


def address(text: str) -> str:
    """Return an address with a domain of four digits: ``0000:01:00`` for ``00000000:01:00`` and ``0000:01:00``."""
    domain, _, rest = text.lower().partition(":")
    return f"{domain[-4:] if domain.startswith('0000') else domain}:{rest}"
