"""What somebody said of findings: a change is approved and becomes the baseline, or a finding is acknowledged.

A decision covers what was so at its audit and on its hosts. What comes later, on whichever host, it does not cover.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Row, delete, insert, or_, select, update

from tunecheck.errors import Misuse, UsageError

from ..fleet_report import Decision
from ..own_command import own_command
from .audit_queries import earlier_names
from .rows import Decided
from .sanitize import plain
from .schema import decided, decision, host, told
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["decide", "decisions", "end", "last_posted", "listed", "names", "set_posted"]


def decide(store: OpenHistory, kind: Literal["approve", "acknowledge"], audit_id: int, finding: str, title: str,
           about: Iterable[tuple[str, str]], *, author: str, owner: str, link: str, note: str) -> Decision:
    """``about``: (host, fact or check)."""
    if not author.strip():
        raise UsageError("a decision needs an author", Misuse.LEFT_OUT)
    row: dict[str, Any] = {
        "kind": kind, "audit_id": audit_id, "finding": plain(finding, 100), "title": plain(title, 500),
        "author": plain(author.strip(), 300), "owner": plain(owner.strip(), 300), "link": plain(link.strip(), 2000),
        "note": plain(note.strip(), 2000), "created": store.clock()}
    with store.turn, store.db.write() as connection:
        numbers = dict(iter(connection.execute(select(host.c.name, host.c.id).where(host.c.retired_audit.is_(None)))))
        made = connection.execute(insert(decision).returning(decision), row).one()
        rows = [{"host_id": numbers[name], "name": plain(fact, 300), "decision_id": made.id}
                for name, fact in sorted(set(about)) if name in numbers]
        if rows:
            connection.execute(insert(decided), rows)
        return _decision(made)


def end(store: OpenHistory, number: int) -> Decision:
    """It holds no longer: what it covered is open again."""
    with store.turn, store.db.write() as connection:
        row = connection.execute(update(decision).where(
            decision.c.id == number, decision.c.ended.is_(None), decision.c.finding != "")
            .values(ended=store.clock()).returning(decision)).first()
    if row is None:
        raise UsageError(f"there is no decision {number} that holds; `{own_command('approve --list')}` shows them",
                         Misuse.NO_SUCH)
    return _decision(row)


def listed(store: OpenHistory) -> list[Decision]:
    """All of them, the oldest first, also those that were ended."""
    with store.db.read() as connection:
        return [_decision(row) for row in connection.execute(
            select(decision).where(decision.c.finding != "").order_by(decision.c.id))]


def names(store: OpenHistory) -> dict[int, list[str]]:
    """Decision -> the names of the facts and checks that it covers."""
    found: dict[int, list[str]] = {}
    with store.db.read() as connection:
        for number, name in connection.execute(select(decided.c.decision_id, decided.c.name).distinct().order_by(
                decided.c.decision_id, decided.c.name)):
            found.setdefault(number, []).append(name)
    return found


#: Most histories have none.
_ANY = Hot(select(decided.c.decision_id).limit(1))


def decisions(store: OpenHistory, audit_id: int) -> list[Decided]:
    """What holds now of the hosts that were there in that audit, by the names of then, as of whichever audit it was
    said; the oldest first."""
    with store.db.read() as connection:
        if not _ANY(connection):
            return []
        rows = connection.execute(
            select(decision, decided.c.host_id, decided.c.name, host.c.name.label("host")).select_from(decision)
            .join(decided, decided.c.decision_id == decision.c.id).join(host, host.c.id == decided.c.host_id)
            .where(decision.c.ended.is_(None),
                   or_(host.c.retired_audit.is_(None), host.c.retired_audit > audit_id))
            .order_by(decision.c.audit_id, decision.c.id)).all()
        called = earlier_names(connection, audit_id)
        known: dict[int, Decision] = {}
        return [Decided(called.get(row.host_id, row.host), row.name, known.setdefault(row.id, _decision(row)))
                for row in rows]


def _decision(row: Row[Any]) -> Decision:
    return Decision(row.id, "approve" if row.kind == "approve" else "acknowledge", row.audit_id, row.finding, row.title,
                    row.author, row.owner, row.link, row.note, row.created, row.ended)


def last_posted(store: OpenHistory, place: str) -> int | None:
    """The newest audit that was posted to the place."""
    with store.db.read() as connection:
        return connection.execute(select(told.c.audit_id).where(told.c.place == place)).scalar()


def set_posted(store: OpenHistory, place: str, audit_id: int) -> None:
    """That audit was posted there. A later one that was posted stays."""
    with store.turn, store.db.write() as connection:
        last = connection.execute(select(told.c.audit_id).where(told.c.place == place)).scalar()
        if last is not None and last >= audit_id:
            return
        connection.execute(delete(told).where(told.c.place == place))
        connection.execute(insert(told), {"place": place, "audit_id": audit_id})
