"""Which audit a verb is about that was told none: an audit of another inventory does not hide what is open here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import AuditHead
    from .store import Store

__all__ = ["newest_heard", "newest_of_each"]


def newest_of_each(store: Store) -> list[AuditHead]:
    """The newest finished audit of every inventory or folder, the newest first. One of hosts that never answered says
    nothing of the fleet, and comes last."""
    found: dict[str, AuditHead] = {}
    for head in store.audits():
        if head.finished is not None:
            found[head.scope.partition(", limit ")[0]] = head
    newest = sorted(found.values(), key=lambda head: -head.id)
    return sorted(newest, key=lambda head: not _heard(store, head)) if len(newest) > 1 else newest


def newest_heard(store: Store) -> tuple[int | None, tuple[str, ...]]:
    """The audit to show (None: the newest, as the store takes it), and what is to be said of that choice."""
    each = newest_of_each(store)
    if len(each) < 2:
        return None, ()
    first, *others = each
    notes = [f"audit #{head.id} ({head.scope}) came later and heard no host; this is the newest that heard one"
             if head.id > first.id else f"audit #{head.id} is of other hosts ({head.scope}): tunecheck fleet --audit "
             f"{head.id}" for head in others]
    return first.id, tuple(notes)


def _heard(store: Store, head: AuditHead) -> bool:
    """Whether a host that it asked has ever answered: one that fell silent is news."""
    return any(state.last_ok is not None for state in store.hosts(head.id, bare=True))
