"""New stores for tests, with a clock that the test turns."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tunecheck_fleet.model import AuditHead, Change, Problem, Seen
from tunecheck_fleet.store import open_store
from tunecheck_fleet.store.store import Store

from .postgres import Server

__all__ = ["Clock", "Makes", "PostgresMakes", "SqliteMakes", "one", "seen"]


class Clock:
    """An hour an audit, unless told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def hours(self, count: float) -> None:
        self.now += 3600 * count


class Makes(ABC):
    """Stores of one kind of database; all are closed at the end."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._open: list[Store] = []
        self._count = 0

    def fresh(self, catalogue: int = 1) -> Store:
        return self.open(self.place(), catalogue)

    def open(self, place: str, catalogue: int = 1) -> Store:
        store = open_store(place, clock=self.clock, catalogue=catalogue)
        self._open.append(store)
        return store

    def close(self) -> None:
        for store in self._open:
            store.close()

    @abstractmethod
    def place(self) -> str:
        """The address of a new, empty history, at today's schema."""

    @abstractmethod
    def bare(self) -> str:
        """The address of nothing at all."""


class SqliteMakes(Makes):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._template = folder / "template.db"

    def place(self) -> str:
        if not self._template.exists():
            open_store(str(self._template)).close()
        target = self.bare()
        shutil.copy(self._template, target)
        return target

    def bare(self) -> str:
        self._count += 1
        return str(self.folder / f"{self._count}.db")


class PostgresMakes(Makes):
    _ready: ClassVar[set[int]] = set()
    _number: ClassVar[int] = 0

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server

    def place(self) -> str:
        if id(self.server) not in self._ready:
            self.server.sql("CREATE DATABASE ready")
            open_store(self.server.url("ready")).close()
            self._ready.add(id(self.server))
        return self._create("TEMPLATE ready")

    def bare(self) -> str:
        return self._create("")

    def _create(self, how: str) -> str:
        PostgresMakes._number += 1
        name = f"t{PostgresMakes._number}"
        self.server.sql(f"CREATE DATABASE {name} {how}")
        return self.server.url(name)


def seen(host: str, known: Mapping[str, Any] | None = None, *, key: str | None = "", status: Any = "ok",
         unknown: Mapping[str, str] | None = None, group: str = "g", hardware: str = "hw", tunecheck: str = "1",
         problems: Sequence[Problem] = (), changes: Sequence[Change] = (), **more: Any) -> Seen:
    """An answer; ``key`` "" is one of the host's own, as is usual."""
    answered = status in ("ok", "partial")
    return Seen(host, group, status, key=(f"key-{host}" if key == "" else key) if answered else None,
                hardware=hardware if answered else "", tunecheck=tunecheck if answered else "", known=known or {},
                unknown=unknown or {}, problems=tuple(problems), changes=tuple(changes), **more)


def one(store: Store, *answers: Seen, scope: str = "all", finish: bool = True) -> AuditHead:
    """A whole audit of these."""
    head = store.begin(scope, [(answer.host, answer.group) for answer in answers])
    for answer in answers:
        store.put(head.id, answer)
    if finish:
        store.finish(head.id)
        store.clock.hours(1)    # type: ignore[attr-defined]
    return head
