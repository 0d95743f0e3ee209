"""Python's garbage collector rests where very many objects live at once and none of them is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """A hundred thousand rows, or the ten thousand objects of a snapshot, live at once and none of them in a cycle: the
    collector would walk over them again and again, for a quarter to a half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
