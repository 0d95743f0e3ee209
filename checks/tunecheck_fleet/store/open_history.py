"""An open history: its database, its clock, and what this process keeps of it. Every file here works on one; Store
gives it the methods that callers use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import zstandard

from tunecheck.util.at_first_use import dataclass

from .database import Database
from .interned import Interned

__all__ = ["Open", "OpenHistory"]


@dataclass
class Open:
    """An audit that this process writes to. ``asked``: the names."""

    id: int
    catalogue: int
    asked: frozenset[str]
    trigger: str
    beat: float


class OpenHistory:
    """``turn`` is held by who writes; ``open`` are the audits that this process writes to, ``times`` when audits began,
    as far as that was read."""

    def __init__(self, url: str | None, *, clock: Callable[[], float] = time.time, catalogue: int | None = None,
                 create: bool = True) -> None:
        self.db = Database(url, create=create)
        self.clock = clock
        self._catalogue = catalogue
        self.interned = Interned()
        self.turn = threading.RLock()
        self.pack = zstandard.ZstdCompressor(level=1).compress      # used in our turn alone
        self.open: dict[int, Open] = {}
        self.times: dict[int, float] = {}

    @property
    def where(self) -> str:
        """Where the history is, without a password: for messages."""
        return self.db.where

    @property
    def catalogue(self) -> int:
        """The registry's version, unless told."""
        if self._catalogue is not None:
            return self._catalogue
        from tunecheck.facts import registry

        return registry.CATALOGUE

    @catalogue.setter
    def catalogue(self, number: int) -> None:
        self._catalogue = number
