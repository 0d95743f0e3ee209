"""What somebody has said of the findings of an audit, also afterwards: of an older audit it holds where the same thing
was so until the audit as of which it was said."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...fleet_report import Decision
from ...lookup import KEY, check
from ...model import AuditHead, Thing
from ..rows import named_as, names_as
from ..view import canon

if TYPE_CHECKING:
    from ...store import Store
    from ...store.rows import Decided

__all__ = ["Said", "about", "said_of"]


class Said(NamedTuple):
    """``by_then``: what was said by the audit; ``since``: what was said of it afterwards. ``baselines``: (host, fact)
    -> the value that was approved there, as canonical JSON."""

    by_then: tuple[Decided, ...]
    since: tuple[Decided, ...]
    baselines: Mapping[tuple[str, str], str]

    @property
    def decided(self) -> dict[tuple[str, str, str], Decision]:
        """(kind, host, fact or check) -> the newest decision."""
        return {(row.decision.kind, row.host, row.name): row.decision for row in (*self.by_then, *self.since)}


def about(store: Store, audit_id: int) -> list[Decision]:
    """Every decision about what was found in the audit."""
    said = said_of(store, store.audit(audit_id))
    return [row.decision for row in (*said.by_then, *said.since)]


def said_of(store: Store, audit: AuditHead) -> Said:
    rows = store.decided(audit.id)
    by_then = tuple(row for row in rows if row.decision.audit <= audit.id)
    baselines = store.approved_values(audit.id)
    since: list[Decided] = []
    for number in sorted({row.decision.audit for row in rows if row.decision.audit > audit.id}):
        held = [*_held(store, audit, number, [row for row in rows if row.decision.audit == number])]
        since += held
        # It has the value until then, so that one is the baseline here, too.
        approved = {(row.host, row.name) for row in held if row.decision.kind == "approve"}
        baselines |= {where: value for where, value in store.approved_values(audit.id, number).items()
                      if where in approved} if approved else {}
    return Said(by_then, tuple(since), {where: canon(value) for where, value in baselines.items()})


def _held(store: Store, audit: AuditHead, until: int, rows: Collection[Decided]) -> Iterator[Decided]:
    """Those of the rows of which it was so without a break from the audit to the later one, ``until``."""
    checks = {names_as(row.name)[0] for row in rows if _of_check(row.name)}
    there: dict[str, set[Thing]] = {}
    for found in store.problems_since(audit.id, checks):
        there.setdefault(found.host, set()).add((found.check, found.subject, found.code))
    over = {(found.host, found.check, found.subject, found.code)
            for found in store.problems_resolved(audit.id, until)} if checks else set()
    facts = {row.name for row in rows if not _of_check(row.name)}
    moved = {(change.host, change.fact) for change in store.changes(audit.id, until, facts)} if facts else set()
    events = [event for event in store.identity_events(None, until)
              if event.audit > audit.id and event.kind in ("replaced", "renamed")]
    first = {event.host: event.other for event in reversed(events) if event.kind == "renamed"}
    called = {other: name for name, other in first.items()}     # what it was called then, and is called now
    others = {event.host for event in events}
    for row in rows:
        then = called.get(row.host, row.host)
        if _of_check(row.name):
            found_here = _named(row.name, there.get(row.host, ()))
            holds = any((then, *each) not in over for each in found_here)
        elif row.name == KEY:
            holds = then not in others
        else:
            holds = (then, row.name) not in moved
        if holds:
            yield row


def _of_check(name: str) -> bool:
    return "/" in name or check(name)


def _named(name: str, found: Iterable[Thing]) -> Iterator[Thing]:
    """Those that a decision of this name is about; versions of before named the check alone, or no code."""
    about, parts, code = names_as(name)
    for each in found:
        if each[0] == about and code in ("", each[2]) and (
                "/" not in name or names_as(named_as(about, each[1]))[1] in parts.split(", ")):
            yield each
