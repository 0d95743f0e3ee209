"""Which audit a verb is about that was told none: an audit of another inventory does not hide what is open here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tunecheck.util.text import some

from .fleet_report import Note
from .own_command import own_command
from .scope import fleet_of, without_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .fleet_report import Decision, FleetReport
    from .model import AuditHead
    from .store import Store

__all__ = ["as_left", "groups_now", "newer_than", "newest_heard", "newest_of_each", "newest_with", "of_other_limits"]

#: A folder for each night is an inventory of its own each: so many are looked through, so many named, so long (s).
_LOOKED, _NAMED, _RECENT = 20, 3, 30 * 86400.0


def newest_of_each(store: Store) -> list[AuditHead]:
    """The newest finished audit of every inventory or folder, the newest first."""
    found: dict[str, AuditHead] = {}
    for head in store.audits():
        if head.finished is not None:
            found[fleet_of(head.scope)] = head
    return sorted(found.values(), key=lambda head: -head.id)[:_LOOKED]


def newest_heard(store: Store) -> tuple[int | None, tuple[str, ...]]:
    """The audit to show (None: the newest, as the store takes it), and what is to be said of that choice."""
    each = newest_of_each(store)
    place = next((place for place, head in enumerate(each) if len(each) > 1 and _heard(store, head)), None)
    if place is None:
        return None, ()
    first = each[place]
    notes = [f"audit #{head.id} ({head.scope}) is newer, and no host of it ever answered: "
             f"{own_command('fleet --audit {audit}', audit=head.id)}" for head in each[:place]]
    shown = _hosts(store, first)
    for head in each[place + 1:]:
        if len(notes) < _NAMED and first.started - head.started < _RECENT and (other := _hosts(store, head) - shown):
            notes.append(f"audit #{head.id} ({head.scope}) has {len(other)} other host{'s' * (len(other) > 1)}: "
                         f"{own_command('fleet --audit {audit}', audit=head.id)}")
            shown |= other
    return first.id, tuple(notes)


def newer_than(store: Store, audit_id: int, decisions: Iterable[Decision]) -> tuple[str, ...]:
    """What is to be said where this audit is shown and a newer one of the same inventory or folder is there.
    ``decisions`` about what was found in it."""
    shown = next((head for head in store.audits() if head.id == audit_id), None)
    if shown is None:
        return ()
    newest = next((head for head in newest_of_each(store)
                   if fleet_of(head.scope) == fleet_of(shown.scope)), None)
    if newest is None or newest.id <= audit_id:
        return ()
    return (f"audit #{audit_id} ({without_limit(shown.scope)}) is not the newest: hosts and causes are those of that "
            "time, the words, fixes and ids of checks only where the host still says the same"
            f"{_said_since(store, shown, decisions)}; of audit #{newest.id}: "
            f"{own_command('fleet --audit {audit}', audit=newest.id)}",)


def _said_since(store: Store, shown: AuditHead, decisions: Iterable[Decision]) -> str:
    """What somebody said after the audit, and its report counts all the same."""
    end = shown.finished if shown.finished is not None else shown.started
    late = {each.id: each for each in decisions if each.created > end}
    said = [f"{each.kind} {each.id} of {each.finding} by {each.author}" for _, each in sorted(late.items())]
    said += [f"waiver {each.id} of {each.fact} by {each.author}" for each in store.waivers() if each.created > end]
    return f"; said since, and applied here where it covers something: {some(said, _NAMED, ', ')}" if said else ""


def newest_with(store: Store, host: str) -> int | None:
    """The newest finished audit that has this host, of whichever inventory and limit; where none has, the one of
    everybody."""
    last = store.last_audit_with(host)
    return last if last is not None else newest_heard(store)[0]


def as_left(store: Store, report: FleetReport, host: str) -> FleetReport:
    """The report of that host, which says so where later audits of its inventory do not ask for it any more: nobody has
    to reach it."""
    own = fleet_of(report.audit.scope)
    newest = next((head for head in newest_of_each(store) if fleet_of(head.scope) == own), None)
    if newest is None or newest.id <= report.audit.id or host in _hosts(store, newest):
        return report
    without = _without(store, report.audit)
    note = Note(f"{host} is not asked for since #{without}: it was declared gone, or taken out of the inventory; "
                f"this is #{report.audit.id}, the last audit that has it", hosts=(host,), first=True)
    return replace(report, notes=(note, *report.notes),
                   hosts=tuple(replace(row, left=True) if row.host == host else row for row in report.hosts))


def left_since(store: Store, host: str) -> int | None:
    """The first audit of its inventory that does not ask for the host any more; None: the newest one does."""
    last = store.last_audit_with(host)
    return _without(store, store.audit(last)) if last is not None else None


def _without(store: Store, last: AuditHead) -> int | None:
    """The first audit without what had this one for its last."""
    later = [head for head in store.audits() if head.id > last.id and head.finished is not None
             and fleet_of(head.scope) == fleet_of(last.scope)]
    # One with a limit asks for a part: who is not in it is in the inventory all the same.
    return next((head for head in later if without_limit(head.scope) == head.scope), later[-1]).id if later else None


def groups_now(store: Store) -> set[str]:
    """The groups in the newest audit of every inventory, of whichever limit."""
    return {state.group for head in newest_of_each(store)
            for state in store.hosts(head.id, store.beside(head.id), bare=True)}


def of_other_limits(store: Store, audit_id: int | None) -> tuple[str, ...]:
    """What is to be said where a report has this audit's hosts alone, and other audits of its inventory heard
    others."""
    number = store.audit(audit_id).id
    own = {state.host for state in store.hosts(number, bare=True)}
    count = len({state.host for state in store.hosts(number, store.beside(number), bare=True)} - own)
    if not count:
        return ()
    return (f"{count} other host{'s' * (count > 1)} of this inventory {'are' if count > 1 else 'is'} not in audit "
            f"#{number} (another --limit); all hosts together: {own_command('fleet')}",)


def _hosts(store: Store, head: AuditHead) -> set[str]:
    return store.names(head.id, store.beside(head.id))


def _heard(store: Store, head: AuditHead) -> bool:
    """Whether a host that it asked has ever answered: one that fell silent is news."""
    return any(state.last_ok is not None for state in store.hosts(head.id, bare=True))
