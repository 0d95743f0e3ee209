"""Which hosts differ from most of their group, and since when: as the reports of the audits told it, so that the next
one knows what was open before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from . import audits
from .audit_queries import during, earlier_names, since, times
from .census import survey_of
from .groups.members import members_of
from .history import names_and_values
from .hosts import find
from .rows import Differing, Outlier
from .schema import compared, differing, fact, host, span
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from typing import Any

    from .open_history import OpenHistory

__all__ = ["among", "is_kept", "keep", "of_host", "standing"]


#: Most histories have none.
_ANY = Hot(select(differing.c.host_id).limit(1))


def standing(store: OpenHistory, number: int, after: int) -> list[Differing]:
    """What was open at the audit ``after`` or began later, up to audit ``number``; of several times that a host
    differed the last."""
    with store.db.read() as connection:
        if not _ANY(connection):
            return []
        when = times(store, connection)
        called = earlier_names(connection, number)
        rows = connection.execute(
            select(differing, host.c.name, fact.c.name.label("fact")).join(host, host.c.id == differing.c.host_id)
            .join(fact, fact.c.id == differing.c.fact_id)
            .where(differing.c.from_audit <= number,
                   or_(differing.c.until_audit.is_(None), differing.c.until_audit > after),
                   or_(host.c.retired_audit.is_(None), host.c.retired_audit > number))
            .order_by(differing.c.from_audit)).all()
    found = {(row.host_id, row.fact_id): Differing(
        called.get(row.host_id, row.name), row.fact,
        None if row.seen_audit is None else since(when, row.seen_audit, row.after_audit), row.began, row.from_audit,
        row.until_audit if row.until_audit is not None and row.until_audit <= number else None) for row in rows}
    return list(found.values())


def of_host(store: OpenHistory, name: str) -> list[tuple[Differing, Any]]:
    """Each time that the host differed, oldest first, with the value that it had when that was told first."""
    with store.db.read() as connection:
        when = times(store, connection)
        number = find(store, connection, name).id
        rows = connection.execute(
            select(differing.c.fact_id, span.c.value_id, differing.c.from_audit, differing.c.until_audit,
                   differing.c.seen_audit, differing.c.after_audit, differing.c.began)
            .outerjoin(span, (span.c.host_id == differing.c.host_id) & (span.c.fact_id == differing.c.fact_id)
                       & during(differing.c.from_audit))
            .where(differing.c.host_id == number).order_by(differing.c.from_audit, differing.c.fact_id)).all()
        named, values = names_and_values(store, connection, rows)
    return [(Differing(name, named[fact_id], None if seen is None else since(when, seen, after), began, told, until),
             values.get(value_id)) for fact_id, value_id, told, until, seen, after, began in rows]


_KEPT = Hot(select(compared.c.audit_id).where(compared.c.audit_id == bindparam("number")))


def is_kept(store: OpenHistory, number: int) -> bool:
    with store.db.read() as connection:
        return bool(_KEPT(connection, {"number": number}))


def among(store: OpenHistory, number: int, facts: Collection[str], share: float, at_least: int) -> list[Outlier]:
    """Who differed in that audit, in these facts: of an audit of which that was not kept."""
    with store.db.read() as connection:
        numbers = {each for each, name in store.interned.facts(connection).items() if name in facts}
        if not numbers:
            return []
        return survey_of(store, connection, members_of(store, connection, number), number, numbers, share, at_least)[1]


def keep(store: OpenHistory, number: int, rows: Iterable[Differing], ended: Iterable[tuple[str, str]]) -> None:
    """What the newest audit ``number`` told, once: ``rows`` are open in it, and ``ended`` (host, fact) were until
    then."""
    later = any(head.id > number and head.finished is not None for head in audits.listed(store, 3))
    if later or is_kept(store, number):
        return
    with store.turn, store.db.write() as connection:
        hosts = dict(map(tuple, connection.execute(
            select(host.c.name, host.c.id).where(host.c.retired_audit.is_(None)))))
        facts = {name: each for each, name in store.interned.facts(connection).items()}
        begun = {(row.host_id, row.fact_id): row.from_audit for row in connection.execute(
            select(differing).where(differing.c.until_audit.is_(None)))}
        for name, what in ended:
            _end(connection, begun, (hosts.get(name, 0), facts[what]), number)
        new = []
        for row in rows:
            key = hosts.get(row.host, 0), facts[row.fact]
            if key[0] and begun.get(key) != row.told:
                _end(connection, begun, key, number)
                new.append({"host_id": key[0], "fact_id": key[1], "from_audit": number, "began": row.began,
                            "seen_audit": row.since.seen if row.since else None,
                            "after_audit": row.since.after if row.since else None})
        if new:
            connection.execute(insert(differing), new)
        connection.execute(insert(compared), {"audit_id": number})


def _end(connection: Connection, begun: dict[tuple[int, int], int], key: tuple[int, int], number: int) -> None:
    if key in begun:
        connection.execute(update(differing).where(
            differing.c.host_id == key[0], differing.c.fact_id == key[1], differing.c.from_audit == begun.pop(key)
        ).values(until_audit=number))
