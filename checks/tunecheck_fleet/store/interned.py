"""Names and values as numbers, remembered between hosts: in a fleet most boxes say the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Container, Iterable
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from .schema import fact, finding, value
from .sql.compiled_statements import Hot

__all__ = ["Interned", "digest"]

#: Characters of values remembered by one process.
MEMORY = 32 << 20

_FACTS = Hot(select(fact.c.id, fact.c.name))
_FACT = insert(fact).returning(fact.c.id)
_VALUE = Hot(select(value.c.id).where(value.c.hash == bindparam("hash")))
_ADD = insert(value).returning(value.c.id)
_FINDING = Hot(select(finding.c.id).where(
    finding.c.check == bindparam("a"), finding.c.subject == bindparam("b"), finding.c.code == bindparam("c")))
_NEW_FINDING = insert(finding).returning(finding.c.id)


class Interned:
    """Never holds what another process could take away: facts and findings stay for ever, and values are only taken
    away while nobody audits (see ``keep``)."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self.forget()

    def forget(self) -> None:
        """After a write was undone: some numbers may not exist."""
        self._facts: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._decoded: dict[int, Any] = {}
        self._findings: dict[tuple[str, str, str], int] = {}
        self._held = 0

    @property
    def known_names(self) -> Container[str]:
        return self._facts

    def fact_ids(self, connection: Connection, names: Iterable[str]) -> dict[str, int]:
        """Name -> number of at least these facts; new ones where they have none."""
        missing = [name for name in names if name not in self._facts]
        if missing:
            self.facts(connection)
            for name in missing:
                if name not in self._facts:
                    number = connection.execute(_FACT, {"name": name}).scalar_one()
                    self._facts[name], self.names[number] = number, name
        return self._facts

    def facts(self, connection: Connection) -> dict[int, str]:
        """Number -> name of every fact."""
        for number, name in _FACTS(connection):
            self._facts[name], self.names[number] = number, name
        return self.names

    def only(self, connection: Connection, column: Any, names: Collection[str] | None) -> tuple[Any, ...]:
        """What limits the column to these facts; None: all of them."""
        if names is None:
            return ()
        return (column.in_(self.numbers(connection, names)),)

    def numbers(self, connection: Connection, names: Collection[str]) -> list[int]:
        """Those of these facts that anybody ever told."""
        return sorted(number for number, name in self.facts(connection).items() if name in names)

    def name(self, connection: Connection, number: int) -> str:
        return self.names[number] if number in self.names else self.facts(connection)[number]

    def value(self, connection: Connection, text: str) -> int:
        """The number of a value given as canonical JSON; a new one where it has none."""
        if (number := self._ids.get(text)) is None:
            hashed = digest(text)
            found = _VALUE(connection, {"hash": hashed})
            number = found[0][0] if found else connection.execute(_ADD, {"hash": hashed, "json": text}).scalar_one()
            self._remember(number, text)
        return number

    def finding(self, connection: Connection, check: str, subject: str, code: str) -> int:
        """The number of what a check found of a subject; a new one where it has none."""
        if (number := self._findings.get((check, subject, code))) is None:
            found = _FINDING(connection, {"a": check, "b": subject, "c": code})
            values = {"check": check, "subject": subject, "code": code}
            number = int(found[0][0] if found else connection.execute(_NEW_FINDING, values).scalar_one())
            self._findings[check, subject, code] = number
            self._held += len(check) + len(subject)
        return number

    def texts(self, connection: Connection, numbers: Iterable[int]) -> dict[int, str]:
        """Number -> canonical JSON, of at least these. Good until the next call."""
        wanted = set(numbers)
        with self._turn:
            if self._held > MEMORY:
                self._ids, self._texts, self._decoded, self._findings, self._held = {}, {}, {}, {}, 0
            known = self._texts
            missing = [number for number in wanted if number not in known]
            for start in range(0, len(missing), 1000):
                for number, text in connection.execute(select(value.c.id, value.c.json)
                                                       .where(value.c.id.in_(missing[start:start + 1000]))):
                    self._remember(number, text)
            return known

    def decoded(self, connection: Connection, numbers: Iterable[int | None]) -> dict[int | None, Any]:
        """Number -> the value as plain data; None -> None."""
        wanted = {number for number in numbers if number is not None}
        with self._turn:
            texts, known = self.texts(connection, wanted), self._decoded
        found: dict[int | None, Any] = {None: None}
        for number in wanted:
            if number not in known:
                known[number] = json.loads(texts[number])
            found[number] = known[number]
        return found

    def null(self, connection: Connection) -> int | None:
        """The number of the absent value; None where nothing was ever absent."""
        return next((number for number, in _VALUE(connection, {"hash": digest("null")})), None)

    def _remember(self, number: int, text: str) -> None:
        self._ids[text], self._texts[number] = number, text
        self._held += len(text)


def digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
