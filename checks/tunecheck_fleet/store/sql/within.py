"""Whether a column is one of a list that is given when the statement runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import NullType

__all__ = ["Listed", "within"]


class Listed(NullType):
    """Of a bound parameter that is a list: JSON for SQLite, an array for PostgreSQL."""


class within(ColumnElement[bool]):     # noqa: N801 - it reads as a part of a statement, as ``exists`` does
    """For statements that are ``Hot``: ``in_`` writes another text for each length of the list, and no more than some
    thousand values. ``name``: of the bound parameter, which is given as any collection. Not of the type Boolean: of
    such a one SQLAlchemy asks SQLite whether it is 1, and no index answers that."""

    inherit_cache = False

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        self.column = column
        self.values = bindparam(name, type_=Listed())


@compiles(within, "sqlite")
def _of_json(element: within, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(each, **options) for each in (element.column, element.values))
    return f"{column} IN (SELECT value FROM json_each({values}))"


@compiles(within, "postgresql")
def _of_array(element: within, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(each, **options) for each in (element.column, element.values))
    return f"{column} = ANY({values})"
