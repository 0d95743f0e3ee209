"""Who is in an audit, whom each is compared with, and what it does not know."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from .. import audits
from ..audit_queries import ANSWERED, earlier_names, last_answers, there
from ..schema import host, snap
from ..sql.compiled_statements import Hot
from .last_told import last_told, unknown_of
from .peers import peers

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["Cohort", "Members", "classes", "members_of"]

#: Group, hardware.
Cohort = tuple[str, str]

_MEMBER = select(host.c.id, host.c.name, snap.c.about_id, snap.c.status).join(snap, snap.c.host_id == host.c.id)
#: Of one audit alone: as ten thousand hosts are read most often.
_MEMBERS = Hot(_MEMBER.where(there(bindparam("then"), ())))


class Members(NamedTuple):
    """The hosts of an audit by number. ``of``: every host that answered, and every silent one as it was last heard,
    with its name and its cohort. ``unknown``: what those that answered in part do not know. ``told``: of these facts,
    the last audit in which the host knew them. ``silent``: which of them did not answer."""

    of: dict[int, tuple[str, Cohort]]
    unknown: dict[int, frozenset[int]]
    told: dict[int, dict[int, int]]
    silent: frozenset[int]

    @property
    def heard(self) -> dict[int, tuple[str, Cohort]]:
        """Those of ``of`` that answered."""
        return {number: member for number, member in self.of.items() if number not in self.silent} if self.silent \
            else self.of

    @property
    def never_known(self) -> dict[int, frozenset[int]]:
        """What the hosts do not know, and never told."""
        return {number: facts.difference(self.told.get(number, ())) for number, facts in self.unknown.items()} \
            if self.told else self.unknown

    @property
    def classes(self) -> dict[str, str]:
        """Host -> the hardware of those that it is compared with."""
        return {name: hardware for name, (_, hardware) in self.of.values()}


def members_of(store: OpenHistory, connection: Connection, number: int, also: Collection[int] = ()) -> Members:
    """A silent host is what it was when it was last heard: who says nothing any more has not left its like, and the
    others are compared with as many hosts as before."""
    # Plain tuples: of SQLAlchemy's own rows ten thousand take longer to read than to fetch.
    asked = _MEMBERS(connection, {"then": number}) if not also else list(map(tuple, connection.execute(
        _MEMBER.where(there(number, also))).all()))
    quiet = {host_id: about for host_id, _, about, status in asked if status not in ANSWERED}
    last = {host_id: about for host_id, _, about in last_answers(connection, list(quiet), number)} if quiet else {}
    rows = [(host_id, name, last.get(host_id, about)) for host_id, name, about, _ in asked
            if host_id not in quiet or host_id in last]
    abouts = store.interned.decoded(connection, {about for _, _, about in rows} | set(quiet.values()))
    came: dict[int, int] = {}
    if len({abouts[about]["hardware"] for _, _, about in rows}) > 1:
        first = select(snap.c.host_id, func.min(snap.c.from_audit).label("begun")).where(
            snap.c.status.in_(ANSWERED)).group_by(snap.c.host_id).subquery()
        came = dict(map(tuple, connection.execute(select(snap.c.host_id, snap.c.about_id).join(
            first, (first.c.host_id == snap.c.host_id) & (first.c.begun == snap.c.from_audit))).all()))
    then = store.interned.decoded(connection, set(came.values()))
    now = {about: (told["group"], told["hardware"]) for about, told in abouts.items() if about is not None}
    # The inventory says in which group a silent host is.
    groups = {host_id: now[about][0] for host_id, about in quiet.items()}
    classes = peers({host_id: (groups.get(host_id, now[about][0]), now[about][1], then[came[host_id]]["hardware"]
                               if host_id in came else now[about][1]) for host_id, _, about in rows})
    cohorts: dict[Cohort, Cohort] = {}      # one object each: hashing a hundred thousand equal ones is not free
    members: dict[int, tuple[str, Cohort]] = {}
    unknown: dict[int, frozenset[int]] = {}
    facts = store.interned.facts(connection)
    called = earlier_names(connection, number)
    same: dict[int, frozenset[int]] = {}    # most hosts say the same of themselves
    for host_id, name, about in rows:
        cohort = (groups.get(host_id, now[about][0]), classes[host_id])
        members[host_id] = (called.get(host_id, name), cohorts.setdefault(cohort, cohort))
        if abouts[about]["unknown"]:
            if about not in same:
                same[about] = unknown_of(abouts[about]).of(facts)
            unknown[host_id] = same[about]
    return Members(members, unknown, last_told(store, connection, number, unknown) if unknown else {},
                   frozenset(quiet).intersection(members))


def classes(store: OpenHistory, audit_id: int | None) -> dict[str, str]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        return members_of(store, connection, number).classes
