"""For what is asked again and again, or of very many rows: statements without SQLAlchemy's own way through them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Executable
from sqlalchemy.sql.compiler import SQLCompiler

from .within import Listed

__all__ = ["Hot"]


_NONE: Mapping[str, Any] = {}


class _Compiled(NamedTuple):
    """``names``: of the parameters by position, where the driver wants them so; ``own``: the statement's constants;
    ``lists``: names of parameters that are lists (see ``within``)."""

    text: str
    names: Sequence[str] | None
    own: dict[str, Any]
    lists: frozenset[str]

    def bound(self, values: Mapping[str, Any]) -> Any:
        """As the driver wants them."""
        every = values
        if self.own or self.lists:
            lists = {name: list(values[name]) for name in self.lists}
            every = {**self.own, **values, **(lists if self.names is None else {
                name: json.dumps(each) for name, each in lists.items()})}
        return every if self.names is None else [every[name] for name in self.names]


class Hot:
    """A statement, compiled once and then handed to the driver itself: SQLAlchemy's way costs 40 us a statement, this
    one 5; an unchanged host has three of them. A report asks some two hundred, and in a new process each of them costs
    another 100 to 400 us to be compiled. ``values`` (a sequence: once for each) go in as bound parameters under
    their names, beside the statement's own constants; out come the rows as plain tuples. Nothing is converted on
    the way, so only for columns whose Python values the drivers take and give as they are: what is a truth value
    comes as a number from SQLite. A list is for ``within``, in place of ``in_``. Errors are the driver's own;
    ``Database`` knows them."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def __call__(self, connection: Connection,
                 values: Mapping[str, Any] | Sequence[Mapping[str, Any]] = _NONE) -> Sequence[tuple[Any, ...]]:
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = connection.connection.cursor()
        if not isinstance(values, Mapping):
            cursor.executemany(compiled.text, [compiled.bound(row) for row in values])
        else:
            cursor.execute(compiled.text, compiled.bound(values))
        rows = cursor.fetchall() if cursor.description else ()
        cursor.close()
        return rows

    def parts(self, connection: Connection, values: Mapping[str, Any],
              size: int = 20_000) -> Iterator[Sequence[tuple[Any, ...]]]:
        """The rows of a large answer, so many at a time."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = connection.connection.cursor()
        cursor.execute(compiled.text, compiled.bound(values))
        while part := cursor.fetchmany(size):
            yield part
        cursor.close()

    def _compile(self, connection: Connection) -> _Compiled:
        compiled = self._statement.compile(dialect=connection.dialect)      # type: ignore[attr-defined]
        assert isinstance(compiled, SQLCompiler)
        assert not any(bind.expanding for bind in compiled.binds.values()), compiled
        found = self._compiled[connection.dialect.name] = _Compiled(
            str(compiled), compiled.positiontup if compiled.positional else None,
            {name: bind.value for name, bind in compiled.binds.items() if not bind.required},
            frozenset(name for name, bind in compiled.binds.items() if isinstance(bind.type, Listed)))
        return found
