"""The fleet's memory: who said what in which audit, as spans over interned values, in SQLite or PostgreSQL.

    open_store(url) -> Store: begin, put, finish; then current, history, changes, blame, diff, census, ...
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .rows import (
    CensusRow,
    ChangeRow,
    DiffRow,
    Flap,
    HostState,
    IdentityEvent,
    Outlier,
    ProblemSince,
    Pruned,
    Span,
    Stored,
    TimelineRow,
    Volatile,
    Waiver,
)
from .sanitize import canonical

if TYPE_CHECKING:
    from .store import Store

__all__ = [
    "CensusRow", "ChangeRow", "DiffRow", "Flap", "HostState", "IdentityEvent", "Outlier", "ProblemSince", "Pruned",
    "Span", "Store", "Stored", "TimelineRow", "Volatile", "Waiver", "canonical",
    "history_is_there", "open_store",
]


def open_store(url: str | None = None, *, clock: Callable[[], float] = time.time, catalogue: int | None = None,
               create: bool = True) -> Store:
    """The history at ``url``: a file's path or ``sqlite:///path``, ``postgresql://...``, or None for the default file.
    It is created (not with ``create`` False) or brought up to date where needed. Close it, or use it in ``with``.
    ``clock`` and ``catalogue`` (else the registry's) are for tests. UsageError: a sentence, where it cannot be used."""
    try:
        from .store import Store
    except ModuleNotFoundError as error:
        from tunecheck.errors import CONTROL_NODE, Misuse, UsageError

        raise UsageError(f"the fleet's history needs the Python package {error.name}, which is not installed; "
                         f"{CONTROL_NODE}", Misuse.NO_PACKAGE) from None
    return Store(url, clock=clock, catalogue=catalogue, create=create)


def history_is_there(url: str | None) -> bool:
    """Whether open_store() would find it, and not make it."""
    try:
        from .database import is_there
    except ModuleNotFoundError:
        return True     # open_store() says which package it needs
    return is_there(url)


def __getattr__(name: str) -> Any:      # the class itself, without its imports where only the rows are wanted
    if name == "Store":
        from .store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
