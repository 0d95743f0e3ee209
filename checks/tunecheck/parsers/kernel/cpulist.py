"""Lists of CPUs or NUMA nodes as the kernel prints them: ``0-238,240-255``."""

from __future__ import annotations

from typing import Iterable, List, Set, Tuple

from ...util.at_first_use import regex

__all__ = ["parse", "show"]

#: CONFIG_NR_CPUS ends at 8192 on x86; what names more is no list of CPUs.
MOST = 16384
_PART = regex(r"(\d{1,5})(?:-(\d{1,5}))?\Z")


def parse(text: str) -> Tuple[int, ...]:
    """Return the numbers of a list, sorted, each once. The empty text is the empty list. ValueError for anything
    else."""
    found: Set[int] = set()
    for part in text.strip().split(",") if text.strip() else []:
        match = _PART.match(part.strip())
        first = int(match.group(1)) if match else -1
        last = int(match.group(2) or first) if match else -1
        if not 0 <= first <= last < MOST:
            raise ValueError(f"{part[:40]!r} in a list of numbers")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def show(numbers: Iterable[int]) -> str:
    """Return the list as the kernel prints it, or "none" for an empty one."""
    runs: List[List[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or "none"
