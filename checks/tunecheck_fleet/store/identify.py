"""Which host is it? The machine's key says so, not its name; names move, and images are cloned with their keys."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from .claims import clone_of, hand_over, kinds, note, settled_under
from .open_history import Open
from .schema import host
from .sql.compiled_statements import Hot

__all__ = ["Box", "identify"]


class Box(NamedTuple):
    """A row of the table of hosts."""

    id: int
    key: str | None
    claimed: str | None
    name: str
    grp: str
    hardware: str
    first_audit: int
    last_audit: int
    answered_audit: int | None
    snap_from: int
    status: str
    about_id: int
    state: bytes | None
    retired_audit: int | None
    told_from: int | None


_COLUMNS = [host.c[name] for name in Box._fields]
_CANDIDATES = Hot(select(*_COLUMNS).where(or_(
    (host.c.name == bindparam("called")) & host.c.retired_audit.is_(None), host.c.key == bindparam("told"))))
_NEW = insert(host).returning(*_COLUMNS)


def identify(connection: Connection, opened: Open, name: str, group: str, key: str | None) -> tuple[Box, str]:
    """The host's row, made where it is new, and a note where it is not who it was.

    - key known, same name: it. Key known under another name: renamed, with its history; unless that other name is asked
      in this audit too, or has answered it. Hosts answer one after the other, so what that means is not known yet: the
      name claims the key, with a history of its own, until the other has told its key as well (claims.settle).
    - a claim whose other name has not told that key: it is the machine that had the other name, as soon as that name is
      not asked any more (or tells another key), and takes its key and history. A claim of which both told the key in
      one audit is a clone: it keeps its own history for good.
    - a claim, and another key now: first the machine of which it was settled that it has the name takes the name and
      its history (_left); then as for any host that has a key. So does it where another name tells its key.
    - key new, the name's host never told one: it (hosts without a key go by name until they tell one).
    - key new, the name's host has another: the box was replaced; its history ends, a new one begins. But of hosts that
      share a key, the one that has a new one was mended: it keeps its history, and a clone keeps the key, and its own.
    - no key: the name's host.
    """
    named = keyed = None
    for row in map(Box._make, _CANDIDATES(connection, {"called": name, "told": key})):
        if row.name == name and row.retired_audit is None:
            named = row
        if key is not None and row.key == key:
            keyed = row
    if key is None or (named is not None and named.key == key):
        if named is not None:
            return named, ""
        return _new(connection, opened, name, group, None), ""
    if named is not None and named.claimed not in (None, key):
        before, named = named, _left(connection, opened, named, keyed is not None)
        if named is not None and named.id == before.id and "duplicate" in kinds(connection, named.id):
            note(connection, opened.id, named.id, "mended", before.claimed or "")
    if keyed is not None and keyed.retired_audit is not None:
        keyed = _taken(connection, opened, keyed, but=named)
    if keyed is not None:
        claimed = named is not None and named.claimed == key
        noted = kinds(connection, named.id, keyed.name) if named is not None and claimed else set()
        there = keyed.retired_audit is None and (keyed.last_audit >= opened.id or keyed.name in opened.asked)
        if named is not None and claimed and (there or "duplicate" in noted):
            return named, ""
        if there:
            return _claim(connection, opened, name, group, key, named, keyed)
        return _renamed(connection, opened, name, named, keyed, "renamed" in noted)
    if named is None:
        return _new(connection, opened, name, group, key), ""
    if named.key is None:
        return _change(connection, named, key=key, claimed=None), ""
    if (clone := clone_of(connection, named.key)) is not None:
        mended = _change(connection, named, key=key)
        note(connection, opened.id, named.id, "mended", named.key)
        connection.execute(update(host).where(host.c.id == clone).values(key=named.key, claimed=None))
        return mended, ""
    _change(connection, named, retired_audit=opened.id)
    fresh = _new(connection, opened, name, group, key)
    note(connection, opened.id, fresh.id, "replaced", "")
    return fresh, f"{name}: another box than before has this name; its history begins anew"


def _left(connection: Connection, opened: Open, named: Box, known: bool) -> Box | None:
    """The host of the name, which claimed a key, and tells another one now. ``known``: which some host has told."""
    owner = Box._make(connection.execute(select(*_COLUMNS).where(host.c.key == named.claimed)).one())
    if owner.retired_audit is not None and settled_under(connection, owner.key) == named.id:
        return _taken(connection, opened, owner)
    if not known:       # a clone that got a key of its own
        return named
    _change(connection, named, retired_audit=opened.id)
    return None


def _taken(connection: Connection, opened: Open, owner: Box, but: Box | None = None) -> Box:
    """The machine, with the name under which it was found out to be (unless that is the host ``but``): its answers
    since then stay where they are."""
    claim = settled_under(connection, owner.key)
    if claim is None or (but is not None and claim == but.id):
        return owner
    name = connection.execute(update(host).where(host.c.id == claim).values(retired_audit=opened.id)
                              .returning(host.c.name)).scalar_one()
    hand_over(connection, claim, owner.id)
    return _change(connection, owner, name=name, retired_audit=None)


def _claim(connection: Connection, opened: Open, name: str, group: str, key: str, named: Box | None,
           keyed: Box) -> tuple[Box, str]:
    # It had a key of its own, or a clone's: another box, or a new image on it.
    if named is not None and (named.key is not None or named.claimed is not None):
        _change(connection, named, retired_audit=opened.id)
        named = None
    if named is None:
        named = _new(connection, opened, name, group, None)
    return _change(connection, named, claimed=key), (
        f"{name}: tells the same machine id and serial as {keyed.name} (renamed, or a cloned image?); "
        "both are kept under their names")


def _renamed(connection: Connection, opened: Open, name: str, named: Box | None, keyed: Box,
             noted: bool) -> tuple[Box, str]:
    """``noted``: an audit before has said so already."""
    if named is not None:       # whoever had the name, has it no more
        _change(connection, named, retired_audit=opened.id)
        if noted:
            hand_over(connection, named.id, keyed.id)
    back = keyed.retired_audit is not None and keyed.name == name
    row = _change(connection, keyed, name=name, retired_audit=None)
    if back:
        return row, f"{name}: the box that had this name before is back"
    if noted:
        return row, ""
    note(connection, opened.id, row.id, "renamed", keyed.name)
    return row, f"{name}: was called {keyed.name} before"


def _new(connection: Connection, opened: Open, name: str, group: str, key: str | None) -> Box:
    return Box(*connection.execute(_NEW, {
        "key": key, "name": name, "grp": group, "hardware": "", "first_audit": opened.id, "last_audit": opened.id - 1,
        "snap_from": opened.id, "status": "", "about_id": 0}).one())


def _change(connection: Connection, row: Box, **values: Any) -> Box:
    return Box(*connection.execute(update(host).where(host.c.id == row.id).values(values).returning(*_COLUMNS)).one())
