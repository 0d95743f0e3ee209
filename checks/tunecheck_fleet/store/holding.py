"""Which values are one of some texts, or a list that may hold one: of all values in one look, however many texts."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, func, literal_column, select

from .audit_queries import parts
from .interned import digest
from .schema import value
from .sql.compiled_statements import Hot

__all__ = ["holding"]

_LISTS = Hot(select(value.c.id, value.c.json).where(
    func.substr(value.c.json, literal_column("1"), literal_column("2")) == bindparam("start")))


def holding(connection: Connection, texts: Collection[str]) -> set[int]:
    """Values that are one of the texts (as JSON), and lists that may hold one."""
    if not texts:
        return set()
    whole = {text[1:-1] for text in texts if "\\" not in text}
    rest = [text for text in texts if "\\" in text]
    found = {number for part in _LISTS.parts(connection, {"start": '["'}) for number, json in part
             if not whole.isdisjoint(json.split('"')) or (rest and any(text in json for text in rest))}
    for part in parts(texts):
        found.update(connection.execute(select(value.c.id).where(
            value.c.hash.in_([digest(text) for text in part]))).scalars())
    return found
