"""Two names that tell one key: a clone, or a machine that goes by another name now? Who told what says which.

A name that tells a key which another one had first claims it (identify.py). It is a clone where both told the key in
one audit, and only then (names/settle.py): a machine cannot answer twice. Where the other name is silent the machine
was most likely renamed: nothing is said against it, and the silent name stays incomplete until it is not asked any
more. Where the other name has told another key, it has another machine, and the claim is the machine that was there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import Connection, and_, bindparam, func, insert, or_, select, update

from .audit_queries import HAS_ANSWERED, SNAP_END, earlier_names, since, times
from .rows import Claim
from .schema import audit, decided, host, identity, snap
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["claims", "clone_of", "hand_over", "kinds", "last_answered", "note", "settled_under"]

#: Who had the key first.
_FIRST = host.alias("first")
#: Until when hosts answered.
_ENDS = Hot(select(SNAP_END).join(host, host.c.id == snap.c.host_id).where(
    within(snap.c.host_id, "hosts"), HAS_ANSWERED, snap.c.from_audit < bindparam("before")))


def note(connection: Connection, audit_id: int, host_id: int, kind: str, other: str) -> None:
    connection.execute(insert(identity), {"audit_id": audit_id, "host_id": host_id, "kind": kind, "other": other})


def hand_over(connection: Connection, old: int, new: int) -> None:
    """What was said of a machine while it was a host of its own, is said of the machine: that it was renamed, and what
    somebody decided."""
    connection.execute(update(identity).where(identity.c.host_id == old, identity.c.kind == "renamed"),
                       {"host_id": new})
    both = select(decided.c.decision_id).where(decided.c.host_id == new)
    connection.execute(update(decided).where(decided.c.host_id == old, decided.c.decision_id.not_in(both)),
                       {"host_id": new})


def clone_of(connection: Connection, key: str) -> int | None:
    """The first host that told this key in one audit with the one that has it."""
    return connection.execute(
        select(host.c.id).join(identity, identity.c.host_id == host.c.id)
        .where(host.c.claimed == key, host.c.retired_audit.is_(None), identity.c.kind == "duplicate")
        .order_by(identity.c.audit_id, host.c.id).limit(1)).scalar()


def settled_under(connection: Connection, key: str | None) -> int | None:
    """The host under whose name the machine with this key was found out to be."""
    return connection.execute(
        select(host.c.id).join(identity, identity.c.host_id == host.c.id)
        .where(host.c.claimed == key, host.c.retired_audit.is_(None), identity.c.kind == "renamed")
        .order_by(identity.c.audit_id.desc(), host.c.id).limit(1)).scalar()


def kinds(connection: Connection, host_id: int, other: str | None = None) -> set[str]:
    """What was said of the two so far; without ``other``: of the host and any."""
    return set(connection.execute(select(identity.c.kind).where(
        identity.c.host_id == host_id, *([identity.c.other == other] if other is not None else []))).scalars())


_CLAIMED = Hot(
    select(host.c.id, host.c.name, host.c.claimed, _FIRST.c.id, _FIRST.c.name).select_from(host)
    .join(_FIRST, _FIRST.c.key == host.c.claimed).where(
        *(or_(each.c.retired_audit.is_(None), each.c.retired_audit > bindparam("then")) for each in (host, _FIRST)),
        host.c.first_audit <= bindparam("then")))


def claims(store: OpenHistory, number: int) -> list[Claim]:
    with store.db.read() as connection:
        claimed = _CLAIMED(connection, {"then": number})
        if not claimed:
            return []
        when = times(store, connection)
        called = earlier_names(connection, number)
        rows = [(host_id, called.get(host_id, name), key, first_id, called.get(first_id, owner))
                for host_id, name, key, first_id, owner in claimed]
        # The machine has the name since: it was found out to be the one that had the key first.
        rows = sorted((row for row in rows if row[1] != row[4]), key=lambda row: row[1])
        # Clones, each with the hosts that told its key in one audit with it.
        both: dict[int, dict[str, int]] = {}
        for host_id, other, begun in connection.execute(
                select(identity.c.host_id, identity.c.other, func.min(identity.c.audit_id))
                .where(identity.c.kind == "duplicate", identity.c.audit_id <= number)
                .group_by(identity.c.host_id, identity.c.other)):
            both.setdefault(host_id, {})[other] = begun
        here = set(connection.execute(select(snap.c.host_id).join(host, host.c.id == snap.c.host_id).where(
            snap.c.from_audit <= number, number <= SNAP_END)).scalars())
        names_of: dict[str, dict[str, int]] = {}    # key -> name -> host
        for host_id, name, key, first_id, owner in rows:
            names_of.setdefault(key, {owner: first_id})[name] = host_id
        found = []
        for host_id, name, key, first_id, _ in rows:
            for other, other_id in names_of[key].items():
                begun = both.get(host_id, {}).get(other)
                if begun is None and other_id != first_id:
                    continue
                began = since(when, begun, last_answered(connection, (host_id, other_id), begun)) if begun else None
                asked = all(each in here or _asked_for(connection, each, number) for each in (host_id, other_id))
                found.append(Claim(name, key, other, began, asked))
        return found


def last_answered(connection: Connection, host_ids: Collection[int], before: int) -> int | None:
    """The last audit before that one which any of the hosts answered."""
    ends = _ENDS(connection, {"hosts": host_ids, "before": before})
    return max((min(end, before - 1) for end, in ends), default=None)


def _asked_for(connection: Connection, host_id: int, number: int) -> bool:
    """No later audit goes without the host that has a scope which had it: another --limit says nothing of it."""
    rows = connection.execute(
        select(audit.c.id, audit.c.scope).select_from(host).join(snap, snap.c.host_id == host.c.id)
        .join(audit, and_(snap.c.from_audit <= audit.c.id, audit.c.id <= SNAP_END))
        .where(host.c.id == host_id, audit.c.id <= number)).all()
    last = max((row.id for row in rows), default=0)
    return connection.execute(select(audit.c.id).where(
        audit.c.id > last, audit.c.id <= number, audit.c.finished.is_not(None),
        audit.c.scope.in_({row.scope for row in rows})).limit(1)).first() is None
