"""What a drafted inventory may call its box."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["EXPECTED", "GROUP", "free_names", "taken"]

#: The group that the drafted inventory makes.
GROUP = "inference"
EXPECTED = "expected letters, digits, dots, hyphens and underscores, a letter or digit first, for example box1"
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
#: Ansible reads each of them as a part of a pattern: -l box[1:3], -l 'all:!box1'.
_PATTERN = frozenset("!&:,[]*?~")
#: Ansible looks up a host and a group by the same word, and takes a host of such a name for the group.
_TAKEN = {"all": "is Ansible's own group of every host", "ungrouped": "is Ansible's own group of hosts without a group",
          GROUP: "is the group that the written inventory makes",
          "localhost": "is for Ansible the machine on which it runs"}


def taken(name: str) -> str:
    """Return why no box may have this name, as the end of a sentence about it; "" where it may."""
    if name in _TAKEN:
        return f"{_TAKEN[name]}; choose another name, for example box1"
    pattern = " ".join(sorted(_PATTERN & set(name)))
    if pattern:
        return f"Ansible reads {pattern} as a pattern of hosts; {EXPECTED}"
    return "" if _FORM.fullmatch(name) else EXPECTED


def free_names() -> Iterator[str]:
    """Yield the names of a box that does not tell its own, the first one first."""
    return (f"box{number}" for number in range(1, 10_000))
