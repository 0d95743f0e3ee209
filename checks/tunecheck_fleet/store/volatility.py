"""Facts that never hold still: a wrong class makes every audit a list of everybody. Drift never looks like that for
long: it is one value that comes, to one box or to all, or one that comes back. The latter are told by ``flaps``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import field
from typing import TYPE_CHECKING

from sqlalchemy import Select, false, func, or_, select, true

from tunecheck.report.words.fleet_words import FLAP_CHANGES, FLAP_DAYS
from tunecheck.util.at_first_use import dataclass

from ..scope import fleet_of
from . import audits
from .audit_queries import ANSWERED, SNAP_END, during, there, times
from .rows import Flap, Volatile
from .schema import host, snap, span
from .sql.compiled_statements import Hot
from .sql.within import within

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["flaps", "volatility"]

#: A fact looks volatile where it moves on so many hosts, and on more than this share of them, in half of the audits,
#: and again and again on the same ones. A rollout moves every host once, and to one value: of those that move in an
#: audit at most this part goes to the same value.
HOSTS, MOVING, AGAIN, TOGETHER = 3, 0.05, 1.25, 0.5
#: And it is left out of drift where it can be nothing else: in so many audits, on this share, hardly two to one value.
AUDITS, SURELY, APART = 5, 0.2, 0.25
#: What returns to a value that it had goes back and forth: that is drift, except for so few.
RETURNS = 0.2


@dataclass
class Moves:
    """``changed``: audit -> value -> hosts that moved to it; ``had``: host -> the values that it has had."""

    changed: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    had: dict[int, set[int]] = field(default_factory=dict)
    returned: int = 0

    def add(self, host_id: int, audit_id: int, before: int, value: int) -> None:
        had = self.had.setdefault(host_id, {before})
        self.returned += value in had
        had.add(value)
        self.changed[audit_id][value] += 1

    def audits(self, hosts: int, share: float, together: float) -> int:
        """In how many audits at least that share of the hosts moved, not more than ``together`` to one value."""
        return sum(total >= HOSTS and total > share * hosts and max(values.values()) <= max(1, together * total)
                   for values in self.changed.values() for total in (values.total(),))


def volatility(store: OpenHistory, last: int, audit_id: int | None, restless: bool = False) -> list[Volatile]:
    """``restless``: only those that may be suspicious. On how many hosts a fact is takes a look at every span."""
    heads = [head for head in audits.listed(store, None if audit_id else last)
             if audit_id is None or head.id <= audit_id][-last:]
    if len(heads) < 2:
        return []
    window = {head.id for head in heads[1:]}
    found: dict[int, Moves] = defaultdict(Moves)
    now = true() if restless else span.c.host_id.in_(_there(store, heads[-1].id))
    with store.db.read() as connection:
        null = store.interned.null(connection) or 0
        for fact_id, host_id, number, before, value in connection.execute(
                select(span.c.fact_id, span.c.host_id, span.c.from_audit, span.c.before_id, span.c.value_id)
                .where(span.c.from_audit.between(min(window), max(window)), span.c.baseline == false())
                .order_by(span.c.from_audit)):
            if number in window:
                found[fact_id].add(host_id, number, null if before is None else before, value)
        if restless:
            found = {fact_id: moves for fact_id, moves in found.items() if _moving(moves, 0, len(window))}
        held = {fact_id: (hosts, distinct) for fact_id, hosts, distinct in connection.execute(
            select(span.c.fact_id, func.count(), func.count(span.c.value_id.distinct()))
            .where(span.c.until_audit.is_(None) if audit_id is None else during(audit_id), now,
                   *((span.c.fact_id.in_(sorted(found)),) if restless else ()))
            .group_by(span.c.fact_id))} if found else {}
        heard = connection.execute(
            select(func.count(host.c.name.distinct())).join(host, host.c.id == snap.c.host_id)
            .where(snap.c.status.in_(ANSWERED), snap.c.from_audit <= heads[-1].id, heads[0].id <= SNAP_END)
        ).scalar() if found else 0
        names = store.interned.facts(connection)
    rows = [_row(names[fact_id], *held.get(fact_id, (len(moves.had), 1) if restless else (0, 0)), moves, len(window),
                 heard or 0) for fact_id, moves in found.items()]
    return sorted(rows, key=lambda row: (not row.suspicious, -row.change_rate, row.fact))


def _there(store: OpenHistory, audit_id: int) -> Select[tuple[int]]:
    """Hosts of the newest audit of each inventory, and of its earlier ones as far as what they heard still stands. Who
    is not among them is gone, or has another name now."""
    newest: dict[str, int] = {}
    for head in audits.listed(store, None):
        if head.id <= audit_id and head.finished is not None:
            newest[fleet_of(head.scope)] = max(head.id, newest.get(fleet_of(head.scope), 0))
    return select(snap.c.host_id).join(host, host.c.id == snap.c.host_id).where(or_(false(), *(
        there(number, audits.beside(store, number)) for number in sorted(newest.values()))))


def _moving(moves: Moves, hosts: int, steps: int) -> bool:
    """In enough audits, and again and again on the same hosts. What it is not of no hosts it is not of more."""
    total, touched = sum(values.total() for values in moves.changed.values()), len(moves.had)
    return steps >= 3 and 2 * moves.audits(hosts, MOVING, TOGETHER) >= steps and total >= AGAIN * touched


def _row(name: str, hosts: int, distinct: int, moves: Moves, steps: int, heard: int) -> Volatile:
    """Suspicious is what moves on many of the hosts that have it. How often it changed is counted of all that were
    heard: those that do not have it, or lost it, may have had it in between."""
    total, touched = sum(values.total() for values in moves.changed.values()), len(moves.had)
    moved = moves.audits(hosts, MOVING, TOGETHER)
    returns = moves.returned > RETURNS * total
    suspicious = _moving(moves, hosts, steps) and (not returns or moved >= AUDITS)
    sure = suspicious and not returns and moves.audits(hosts, SURELY, APART) >= AUDITS
    rate = total / (max(heard, touched) * steps)
    return Volatile(name, hosts, distinct / hosts if hosts else 0.0, rate, suspicious, "" if not suspicious else
                    f"{name}: changed {total} times on {touched} of {hosts} hosts in {steps + 1} audits; it moves like "
                    "a reading, not like a setting, and does not belong in the history", sure, heard)


_NAMES = Hot(select(host.c.id, host.c.name).where(within(host.c.id, "hosts")))


def flaps(store: OpenHistory, days: float = FLAP_DAYS, audit_id: int | None = None,
          facts: Collection[str] | None = None) -> list[Flap]:
    """Return the facts that went there and back, and there again, in so many days before the audit, the most restless
    first. ``facts``: only these."""
    with store.db.read() as connection:
        when = times(store, connection)
        last = max(when, default=0) if audit_id is None else audit_id
        start = (store.clock() if audit_id is None else when.get(last, 0.0)) - days * 86_400
        first = min((number for number, at in when.items() if at >= start), default=None)
        if first is None:
            return []
        seen: dict[tuple[int, int], list[int | None]] = {}
        for host_id, fact_id, before, value in connection.execute(
                select(span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id)
                .where(span.c.from_audit >= first, span.c.from_audit <= last, span.c.baseline == false(),
                       *store.interned.only(connection, span.c.fact_id, facts))
                .order_by(span.c.from_audit)):
            seen.setdefault((host_id, fact_id), [before]).append(value)
        null = store.interned.null(connection)
        hosts: dict[int, str] = {}
        if seen:
            hosts.update(_NAMES(connection, {"hosts": {host_id for host_id, _ in seen}}))
        names = store.interned.facts(connection)
    found = []
    for (host_id, fact_id), values in seen.items():
        distinct = len({null if value is None else value for value in values})
        if len(values) - distinct >= FLAP_CHANGES - 1:      # so often it came back to a value that it had left
            found.append(Flap(hosts[host_id], names[fact_id], len(values) - 1, distinct))
    return sorted(found, key=lambda flap: (-flap.times, flap.host, flap.fact))
