"""Who answered an audit, whom each is compared with, and what it does not know."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, select

from . import audits
from .audit_queries import ANSWERED, earlier_names, there
from .peers import peers
from .schema import host, snap
from .spans import families

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["Cohort", "classes", "members_of"]

#: Group, hardware.
Cohort = tuple[str, str]


class Unknown(NamedTuple):
    """What a host does not know, as spans.covered has it: facts by their ``names`` or ``families``, but not those that
    it ``reported`` all the same."""

    names: frozenset[str]
    families: tuple[str, ...]
    reported: frozenset[str]

    def of(self, facts: Mapping[int, str]) -> frozenset[int]:
        """The numbers of those of the facts."""
        return frozenset(number for number, name in facts.items() if name not in self.reported and (
            name in self.names or name.startswith(self.families)))


def members_of(store: OpenHistory, connection: Connection, number: int,
             also: Collection[int] = ()) -> tuple[dict[int, tuple[str, Cohort]], dict[int, frozenset[int]]]:
    """Every host that answered, with its name and its cohort; and what those that answered in part do not know."""
    # Plain tuples: of SQLAlchemy's own rows ten thousand take longer to read than to fetch.
    rows = list(map(tuple, connection.execute(
        select(host.c.id, host.c.name, snap.c.about_id).join(snap, snap.c.host_id == host.c.id)
        .where(there(number, also), snap.c.status.in_(ANSWERED))).all()))
    abouts = store.interned.decoded(connection, {about for _, _, about in rows})
    came: dict[int, int] = {}
    if len({abouts[about]["hardware"] for _, _, about in rows}) > 1:
        first = select(snap.c.host_id, func.min(snap.c.from_audit).label("begun")).where(
            snap.c.status.in_(ANSWERED)).group_by(snap.c.host_id).subquery()
        came = dict(map(tuple, connection.execute(select(snap.c.host_id, snap.c.about_id).join(
            first, (first.c.host_id == snap.c.host_id) & (first.c.begun == snap.c.from_audit))).all()))
    then = store.interned.decoded(connection, set(came.values()))
    now = {about: (told["group"], told["hardware"]) for about, told in abouts.items() if about is not None}
    classes = peers({host_id: (*now[about], then[came[host_id]]["hardware"] if host_id in came else now[about][1])
                     for host_id, _, about in rows})
    cohorts: dict[Cohort, Cohort] = {}      # one object each: hashing a hundred thousand equal ones is not free
    members: dict[int, tuple[str, Cohort]] = {}
    unknown: dict[int, frozenset[int]] = {}
    facts = store.interned.facts(connection)
    called = earlier_names(connection, number)
    same: dict[int, frozenset[int]] = {}    # most hosts say the same of themselves
    for host_id, name, about in rows:
        cohort = (now[about][0], classes[host_id])
        members[host_id] = (called.get(host_id, name), cohorts.setdefault(cohort, cohort))
        if names := abouts[about]["unknown"]:
            if about not in same:
                reported = frozenset(abouts[about].get("told", ()))
                same[about] = Unknown(frozenset(names), families(names), reported).of(facts)
            unknown[host_id] = same[about]
    return members, unknown


def classes(store: OpenHistory, audit_id: int | None) -> dict[str, str]:
    number = audits.head(store, audit_id).id
    with store.db.read() as connection:
        return {name: hardware for name, (_, hardware) in members_of(store, connection, number)[0].values()}
