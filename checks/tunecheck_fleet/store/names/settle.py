"""At the end of an audit: whose claim of a key is a clone's, and which machine another name had (claims.py).

Of a machine that was found out in its first audit under the new name nothing is lost on the way: the answer goes to the
machine, as if that had been known when it came. So its changes, findings and decisions go on. A claim of earlier audits
keeps what it told there, and the machine goes on with its next answer (identify.py).
"""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, or_, select, update

from ...model import Change, Problem
from .. import spans, told_problems
from ..claims import hand_over, note
from ..found import findings
from ..identify import Box
from ..open_history import Open
from ..schema import audit, differing, finding_span, host, identity, incident, journal, newest, problem_span, snap, span
from ..spans import AnswerFacts
from ..told import Told

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["settle"]

#: Who had the key first.
_FIRST = host.alias("first")
_BOX = [host.c[name] for name in Box._fields]


def settle(store: OpenHistory, connection: Connection, audit_id: int) -> None:
    """When everybody has answered: whose claim is a clone's, and who is the machine that another name had."""
    rows = connection.execute(
        select(host.c.id, host.c.name, host.c.claimed, host.c.answered_audit,
               _FIRST.c.name, _FIRST.c.retired_audit, _FIRST.c.answered_audit)
        .select_from(host).join(_FIRST, _FIRST.c.key == host.c.claimed)
        .where(host.c.retired_audit.is_(None), or_(host.c.answered_audit == audit_id,
                                                   _FIRST.c.retired_audit == audit_id)).order_by(host.c.id)).all()
    noted = set(map(tuple, connection.execute(select(identity.c.host_id, identity.c.other).join(
        host, host.c.id == identity.c.host_id).where(host.c.claimed.is_not(None))))) if rows else set()
    last: dict[str, int] = {}           # key -> the audit that was told it last, under whichever name
    for _, _, key, told, *_ in rows:
        last[key] = max(last.get(key, 0), told or 0)
    teller_of: dict[str, str] = {}      # key -> who told it in this audit: the owner, else the first that claims it
    for host_id, name, key, told, owner, retired, answered in rows:
        there = retired is None and answered == audit_id
        # It may be silent in the audit that finds out that the other name has another machine now.
        other = teller_of.setdefault(key, owner if there else name) if told == audit_id else name
        moved = retired is not None and told == last[key]
        kind, other = ("duplicate", other) if other != name else ("renamed" if moved else "", owner)
        if not kind or (host_id, other) in noted:
            continue
        note(connection, audit_id, host_id, kind, other)
        if kind == "renamed":
            _take_over(store, connection, audit_id, host_id, key)


def _take_over(store: OpenHistory, connection: Connection, audit_id: int, claim_id: int, key: str) -> None:
    """The machine with the key has told what the claim has, where that is of this audit alone."""
    claim = Box._make(connection.execute(select(*_BOX).where(host.c.id == claim_id)).one())
    row = Box._make(connection.execute(select(*_BOX).where(host.c.key == key)).one())
    if claim.first_audit != audit_id or claim.last_audit != audit_id or row.last_audit >= audit_id:
        return
    hand_over(connection, claim.id, row.id)
    connection.execute(update(host).where(host.c.id == claim.id), {"retired_audit": audit_id})
    connection.execute(update(host).where(host.c.id == row.id), {"name": claim.name, "retired_audit": None})
    row = row._replace(name=claim.name, retired_audit=None)
    told_from = _write(store, connection, audit_id, claim, row)
    if row.status:
        connection.execute(update(snap).where(snap.c.host_id == row.id, snap.c.from_audit == row.snap_from),
                           {"to_audit": row.last_audit})
    connection.execute(delete(newest).where(newest.c.host_id == row.id))
    for table in (snap, newest):
        connection.execute(update(table).where(table.c.host_id == claim.id), {"host_id": row.id})
    connection.execute(update(host).where(host.c.id == row.id), {
        "grp": claim.grp, "hardware": claim.hardware, "last_audit": claim.last_audit, "told_from": told_from,
        "answered_audit": claim.answered_audit, "snap_from": claim.snap_from, "status": claim.status,
        "about_id": claim.about_id, "state": claim.state})
    for each in (span, finding_span, problem_span, journal, incident, differing, identity):
        connection.execute(delete(each).where(each.c.host_id == claim.id))
    connection.execute(delete(host).where(host.c.id == claim.id))


def _write(store: OpenHistory, connection: Connection, audit_id: int, claim: Box, row: Box) -> int:
    """As write_host.put writes an answer; the claim holds it whole. Since which audit the problems are kept."""
    about = store.interned.decoded(connection, {claim.about_id})[claim.about_id]
    number, catalogue = connection.execute(select(audit.c.id, audit.c.catalogue).where(audit.c.id == audit_id)).one()
    opened = Open(number, catalogue, frozenset(), "", 0.0)
    _, _, rebaselined = spans.write(store, connection, row, opened, about["tunecheck"],
                                    _facts(store, connection, claim, about))
    if rebaselined:
        connection.execute(update(audit).where(audit.c.id == audit_id), {"rebaselined": True})
    told = Told()
    problems: list[Problem] = [told.problem(claim.name, each) for text in connection.execute(
        select(newest.c.problems).where(newest.c.host_id == claim.id)).scalars() for each in loads(text or "[]")]
    findings.write(store, connection, row, audit_id, problems, about["checks"], about.get("dark", ()))
    told_from = told_problems.write(store, connection, row, audit_id, problems)
    findings.receipts(connection, row.id, audit_id, [Change(run, at, state) for run, at, state in connection.execute(
        select(journal.c.run, journal.c.at, journal.c.state).where(journal.c.host_id == claim.id))])
    known = set(connection.execute(select(incident.c.name).where(incident.c.host_id == row.id)).scalars())
    for name, content in connection.execute(select(incident.c.name, incident.c.told).where(
            incident.c.host_id == claim.id)).all():
        if name in known:
            connection.execute(update(incident).where(incident.c.host_id == row.id, incident.c.name == name),
                               {"told": content})
        else:
            connection.execute(update(incident).where(incident.c.host_id == claim.id, incident.c.name == name),
                               {"host_id": row.id})
    return told_from


def _facts(store: OpenHistory, connection: Connection, claim: Box, about: dict[str, Any]) -> AnswerFacts:
    held = dict(map(tuple, connection.execute(select(span.c.fact_id, span.c.value_id).where(
        span.c.host_id == claim.id, span.c.until_audit.is_(None))).all()))
    texts = store.interned.texts(connection, set(held.values()))
    known = {store.interned.name(connection, fact): texts[value] for fact, value in held.items()
             if texts[value] != "null"}
    reported = tuple(about.get("told", ()))
    return AnswerFacts(known, frozenset(reported) - known.keys(), about["unknown"], reported, tuple(about["checks"]))
