"""Names of hosts: in the order of their numbers, and many of them as few."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .text import and_more

__all__ = ["fold", "natural"]

_DIGITS = re.compile(r"\d{1,15}")


def natural(name: str) -> tuple[Any, ...]:
    """gpu9 before gpu10."""
    return tuple((int(part), part) if index % 2 else (0, part)
                 for index, part in enumerate(re.split(r"(\d{1,15})", name)))


def fold(names: Iterable[str], longest: int = 0) -> str:
    """"gpu001..gpu038 (38), gpu077". Names in a row differ by one number, counted up by one. With ``longest``, what
    goes beyond so many characters is only counted; the first part is always there."""
    parts, counts = [], []
    for run in _runs(names):
        parts.append(f"{run[0]}..{run[-1]} ({len(run)})" if len(run) > 2 else ", ".join(run))
        counts.append(len(run))
    if not longest:
        return ", ".join(parts)
    taken = size = 0
    while taken < len(parts) and (not taken or size + len(parts[taken]) + 2 <= longest):
        size += len(parts[taken]) + 2
        taken += 1
    rest = sum(counts[taken:])
    return ", ".join(parts[:taken]) + and_more(rest, ", ")


def _runs(names: Iterable[str]) -> list[list[str]]:
    """Names that count up, together."""
    alike: dict[str, list[tuple[str, list[str]]]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(_DIGITS.sub("\0", name), []).append((name, _DIGITS.findall(name)))
    runs = [run for members in alike.values() for run in _counted(members)]
    return sorted(runs, key=lambda run: natural(run[0]))


def _counted(members: Sequence[tuple[str, list[str]]]) -> list[list[str]]:
    places = range(len(members[0][1]))
    if not places:
        return [[name] for name, _ in members]
    # The number that counts is the one that differs most often: gpu1.dc2, gpu2.dc2.
    at = max(places, key=lambda place: len({numbers[place] for _, numbers in members}))
    rest = {name: (*numbers[:at], *numbers[at + 1:]) for name, numbers in members}
    number = {name: numbers[at] for name, numbers in members}
    ordered = sorted((name for name, _ in members), key=lambda name: (rest[name], int(number[name]), number[name]))
    runs = [[ordered[0]]]
    for name in ordered[1:]:
        before = runs[-1][-1]
        next_one = str(int(number[before]) + 1).zfill(len(number[before]))
        if rest[name] == rest[before] and number[name] == next_one:
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs
