"""For what is asked again and again, or of very many rows: statements without SQLAlchemy's own way through them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.sql.compiler import SQLCompiler

__all__ = ["Hot"]


_NONE: Mapping[str, Any] = {}


def _bound(values: Mapping[str, Any], names: Sequence[str] | None, own: dict[str, Any]) -> Any:
    """As the driver wants them: by position, where there are ``names``."""
    every = {**own, **values} if own else values
    return every if names is None else [every[name] for name in names]


class Hot:
    """A statement, compiled once and then handed to the driver itself: SQLAlchemy's way costs 40 us a statement, this
    one 5; an unchanged host has three of them. A report asks some two hundred, and in a new process each of them costs
    another 100 to 400 us to be compiled. ``values`` (a sequence: once for each) go in as bound parameters under
    their names, beside the statement's own constants; out come the rows as plain tuples. Nothing is converted on
    the way, so only for columns whose Python values the drivers take and give as they are: what is a truth value
    comes as a number from SQLite. A list for ``in_`` has no place here. Errors are the driver's own; ``Database``
    knows them."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, Sequence[str] | None, dict[str, Any]]] = {}

    def __call__(self, connection: Connection,
                 values: Mapping[str, Any] | Sequence[Mapping[str, Any]] = _NONE) -> Sequence[tuple[Any, ...]]:
        text, names, own = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = connection.connection.cursor()
        if not isinstance(values, Mapping):
            cursor.executemany(text, [_bound(row, names, own) for row in values])
        else:
            cursor.execute(text, _bound(values, names, own))
        rows = cursor.fetchall() if cursor.description else ()
        cursor.close()
        return rows

    def parts(self, connection: Connection, values: Mapping[str, Any],
              size: int = 20_000) -> Iterator[Sequence[tuple[Any, ...]]]:
        """The rows of a large answer, so many at a time."""
        text, names, own = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = connection.connection.cursor()
        cursor.execute(text, _bound(values, names, own))
        while part := cursor.fetchmany(size):
            yield part
        cursor.close()

    def _compile(self, connection: Connection) -> tuple[str, Sequence[str] | None, dict[str, Any]]:
        compiled = self._statement.compile(dialect=connection.dialect)      # type: ignore[attr-defined]
        assert isinstance(compiled, SQLCompiler)
        assert not any(bind.expanding for bind in compiled.binds.values()), compiled
        found = (str(compiled), compiled.positiontup if compiled.positional else None,
                 {name: bind.value for name, bind in compiled.binds.items() if not bind.required})
        self._compiled[connection.dialect.name] = found
        return found
