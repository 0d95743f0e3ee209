"""Judge many snapshots in one process: an audit of a fleet."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator

from ..facts.snapshot_file import Stored, unpack
from ..model.finding import Finding
from . import judge
from .context import Case

__all__ = ["judge_many"]

#: Snapshots between two looks for garbage.
_ROUND = 500


def judge_many(contents: Iterable[bytes], verb: str = "preflight") -> Iterator[tuple[Stored, list[Finding]]]:
    """Yield each snapshot with its findings. ValueError for one that is no snapshot; the caller decides about the
    others by giving them one at a time.

    Python's garbage collector is off meanwhile. A snapshot is ten thousand objects, none of which is garbage before all
    are, and the collector would look at them again every few hundred allocations (a fifth of the time)."""
    was = gc.isenabled()
    gc.disable()
    try:
        for number, content in enumerate(contents, 1):
            stored = unpack(content)
            yield stored, judge(Case(stored.snapshot, stored.frozen), verb)
            if number % _ROUND == 0:
                gc.collect()
    finally:
        if was:
            gc.enable()
