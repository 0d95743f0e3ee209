"""What this process has changed, for who interrupts it."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["left_behind", "removed", "taken_away", "tellers", "written", "wrote"]

#: Every file and history that this process has written, in order. Each once: a watch writes the same ones for months.
written: dict[str, None] = {}
#: Every older pass that it took away.
removed: list[str] = []
#: Every other file that it took away, to write a new one at the end.
taken_away: list[str] = []
#: Verbs that keep more than files: each says what stands now, "" for nothing.
tellers: list[Callable[[], str]] = []


def wrote(place: str) -> None:
    """Note that this process has written a file or a history."""
    written[place] = None


def left_behind() -> str:
    """Return all of it in words. A file that was taken away since (a place for scratch work) is not named."""
    there = [each for each in written if "://" in each or os.path.lexists(each)]
    parts = [f"already written: {', '.join(there)}"] if there else []
    if removed:
        parts.append(f"the older pass holds no more ({', '.join(removed)}): the gate stays closed until tunecheck "
                     "preflight --pass has passed")
    if gone := [each for each in taken_away if not os.path.lexists(each)]:
        parts.append(f"taken away, as it was of before: {', '.join(gone)}")
    parts += [each for tell in tellers if (each := tell())]
    return "; ".join(parts) or "nothing was changed"
